public import Platform

internal import CXML

/// A signature that holds, and the facts about its signer.
public struct VerifiedSignature: Sendable, Hashable {
  /// The XAdES signing time, or nil unless the signature covers one; it may lie in the future.
  public let signingTime: Timestamp?
  /// The covered SigningTime as written; it is no date if ``signingTime`` is nil.
  public let signingTimeText: String?
  /// The key that made the signature.
  public let key: PublicKey
  /// The certificate that holds the key, or nil for a bare key.
  public let certificate: Certificate?
  /// The other certificates of the signature, each once, in document order.
  public let otherCertificates: [Certificate]
}

/// Verifies the XML signatures of a document (XML Signature 1.1), and identifies their signers.
///
/// Only enveloped signatures over the whole document are accepted, so that no part of the document is unsigned. Of
/// several signatures each covers the document as it was when that one was made: without itself and those behind it.
public struct SignatureVerifier: Sendable {
  /// The version of the verifier, raised whenever a result may change.
  public static let version = 5

  private static let maximumSignatures = 8
  /// The number of bytes that all signatures together canonicalize and digest: the largest document twice.
  private static let maximumDigested = 16 << 20
  /// The number of elements times the number of prefixes that canonicalization looks for at each.
  private static let maximumLookups = 500_000

  private let certificates = CertificateCache()

  /// Makes a verifier, whose copies share the certificates that it reads.
  public init() {}

  /// Verifies all signatures of a document.
  ///
  /// The document is changed meanwhile and restored afterwards.
  ///
  /// - Returns: the signatures in document order, at least one. The last one's signer is the signer of the document.
  /// - Throws: ``SignatureError`` unless all signatures hold.
  public func verify(_ document: XMLDocument) throws(SignatureError) -> [VerifiedSignature] {
    let (elements, size) = try signatures(of: document)
    var claims: [(structure: SignatureStructure, keyInfo: KeyInfo)] = []
    for (index, element) in elements.enumerated() {
      try numbering(index + 1) { () throws(SignatureError) in
        let structure = try SignatureStructure(element)
        claims.append((structure, try KeyInfo(structure.keyInfo, certificates)))
      }
    }
    // All rules are checked before the first digest, since libxml2 can't be stopped.
    let prefixes = claims.reduce(0) { $0 + $1.structure.prefixes }
    guard claims.count * document.size <= Self.maximumDigested else {
      throw SignatureError(
        .structure, "\(claims.count) signatures of a document of \(document.size) bytes")
    }
    guard prefixes * size <= Self.maximumLookups else {
      throw SignatureError(
        .structure, "PrefixLists of \(prefixes) prefixes in a document of \(size) elements")
    }
    var verified: [VerifiedSignature] = []
    var removed = RemovedElements()
    defer { removed.putBack() }
    for (index, claim) in claims.enumerated().reversed() {
      try numbering(index + 1) { () throws(SignatureError) in
        verified.append(try verify(claim.structure, claim.keyInfo))
      }
      removed.remove(claim.structure.element)
    }
    return verified.reversed()
  }

  /// Returns whether a document has a signing time in one of its signatures, covered or not.
  public static func namesTime(_ document: XMLDocument) -> Bool {
    document.root.children(named: "Signature", in: Algorithm.signature).contains { signature in
      unsafe signature.nodes.contains {
        unsafe XMLElement.isNode($0, named: "SigningTime", in: Algorithm.advancedSignature)
      }
    }
  }

  /// Returns the Signature elements, all of which must be children of the root, and the number of all elements.
  private func signatures(
    of document: XMLDocument
  ) throws(SignatureError) -> (signatures: [XMLElement], size: Int) {
    let root = document.root
    var size = 0
    let signatures = unsafe root.nodes.filter { node in
      size += 1
      return unsafe XMLElement.isNode(node, named: "Signature", in: Algorithm.signature)
    }.map { unsafe XMLElement($0, in: document) }
    if let stray = signatures.first(where: { unsafe $0.parent?.node != root.node }) {
      throw SignatureError(
        .structure, "line \(stray.line): a Signature that is not a child of the root")
    }
    guard !signatures.isEmpty else { throw SignatureError(.unsigned, "there is no signature") }
    guard signatures.count <= Self.maximumSignatures else {
      throw SignatureError(
        .structure, "\(signatures.count) signatures; at most \(Self.maximumSignatures)")
    }
    return (signatures, size)
  }

  private func numbering(
    _ number: Int, _ body: () throws(SignatureError) -> Void
  ) throws(SignatureError) {
    do { try body() } catch { throw SignatureError(error.code, error.message, signature: number) }
  }

  private func verify(
    _ structure: SignatureStructure, _ keyInfo: KeyInfo
  ) throws(SignatureError) -> VerifiedSignature {
    let isRSA = Algorithm.rsaSignatures.contains(structure.method)
    let key = if let key = keyInfo.key { key } else { try signer(among: keyInfo, structure) }
    guard (key.kind == .rsa) == isRSA else {
      throw SignatureError(
        .key, "the key is \(key.kind.rawValue), the method “\(structure.method)”")
    }
    let certificates = keyInfo.certificates
    let holders = certificates.filter { $0.key == key }
    guard certificates.isEmpty || holders.count == 1 else {
      throw SignatureError(
        .certificate,
        holders.isEmpty
          ? "none of the certificates holds the key in KeyValue"
          : "more than one certificate holds the signing key")
    }
    if let name = holders.first?.commonName, name.utf8.contains(0) {
      throw SignatureError(.certificate, "the common name of the certificate holds a NUL")
    }
    if keyInfo.key != nil { try check(structure, with: key) }

    let time = structure.signedProperties?
      .child(named: "SignedSignatureProperties", in: Algorithm.advancedSignature)?
      .child(named: "SigningTime", in: Algorithm.advancedSignature)?.text
    return VerifiedSignature(
      signingTime: time.flatMap(Timestamp.init(dateTime:)), signingTimeText: time, key: key,
      certificate: holders.first,
      otherCertificates: certificates.filter { $0 != holders.first })
  }

  /// Verifies with a key that is known.
  private func check(_ structure: SignatureStructure, with key: PublicKey) throws(SignatureError) {
    let context = try context(for: key, structure)
    let outcome = context.verify(structure.element)
    if outcome == .forged, let value = structure.value,
      context.isMadeWithoutDefaultNamespace(by: key.handle, value: value)
    {
      throw Self.namespaceError
    }
    try require(outcome)
  }

  private static let namespaceError = SignatureError(
    .defaultNamespace,
    "it was made over a SignedInfo without the default namespace (xmlns=) of the root, which canonical "
      + "XML requires there")

  /// Finds the certified key with which the signature holds.
  ///
  /// The document is digested at most twice for any number of certificates: if the first key fails, the others are tried
  /// on the canonical SignedInfo alone.
  private func signer(
    among keyInfo: KeyInfo, _ structure: SignatureStructure
  ) throws(SignatureError) -> PublicKey {
    let isRSA = Algorithm.rsaSignatures.contains(structure.method)
    let certificates = keyInfo.certificates
    // The leaf is the certificate that issued none of the others, at any place.
    let leaves = certificates.filter { leaf in
      !certificates.contains { $0 != leaf && $0.issuer == leaf.subject }
    }
    var candidates: [PublicKey] = []
    for key in (leaves + certificates).compactMap(\.key) where (key.kind == .rsa) == isRSA {
      if !candidates.contains(key) { candidates.append(key) }
    }
    guard let first = candidates.first else {
      throw SignatureError(.key, "no certificate holds a key that fits “\(structure.method)”")
    }
    let context = try context(for: first, structure)
    let outcome = context.verify(structure.element)
    guard outcome == .forged, let value = structure.value else {
      try require(outcome)
      return first
    }
    if let key = candidates.dropFirst().first(where: {
      context.isMade(by: $0.handle, value: value)
    }) {
      try check(structure, with: key)
      return key
    }
    if candidates.contains(where: {
      context.isMadeWithoutDefaultNamespace(by: $0.handle, value: value)
    }) {
      throw Self.namespaceError
    }
    try require(outcome)
    return first
  }

  private func context(
    for key: PublicKey, _ structure: SignatureStructure
  ) throws(SignatureError) -> SignatureContext {
    guard
      let context = SignatureContext(
        key: key.handle, allowsIdentifiers: structure.signedProperties != nil)
    else { throw SignatureError(.internalFailure, "out of memory") }
    return context
  }

  private func require(_ outcome: SignatureContext.Outcome) throws(SignatureError) {
    switch outcome {
    case .holds: break
    case .changed:
      throw SignatureError(.changed, "the signed content has another digest")
    case .forged:
      throw SignatureError(.forged, "the signature was not made by the key that it names")
    case .failed:
      throw SignatureError(.internalFailure, "the signature can't be processed")
    }
  }
}

/// Elements that are temporarily removed from their tree.
@safe private struct RemovedElements {
  private var places: [(element: XMLElement, parent: xmlNodePtr?, next: xmlNodePtr?)]

  init() { unsafe places = [] }

  mutating func remove(_ element: XMLElement) {
    let node = unsafe element.node
    unsafe places.append((element, node.pointee.parent, node.pointee.next))
    unsafe xmlUnlinkNode(node)
  }

  /// Puts the elements back in the opposite order, so that each finds its neighbour in place.
  mutating func putBack() {
    while let (element, parent, next) = unsafe places.popLast() {
      if let next = unsafe next {
        unsafe xmlAddPrevSibling(next, element.node)
      } else {
        unsafe xmlAddChild(parent, element.node)
      }
    }
  }
}

/// The reason why the signatures of a document do not hold.
public struct SignatureError: Error, Sendable, Hashable {
  /// The kind of reason, for programs.
  public enum Code: Sendable, Hashable {
    /// There is no signature.
    case unsigned
    /// Misplaced, malformed or too many signatures.
    case structure
    /// A reference or transform other than one of the whole document.
    case reference
    /// An algorithm that is not accepted.
    case algorithm
    /// No usable key in KeyInfo.
    case key
    /// The certificates in KeyInfo do not fit the key.
    case certificate
    /// The signed content was changed afterwards.
    case changed
    /// The signature value was not made by the key.
    case forged
    /// The signature value was made by the key, but over a SignedInfo without the default namespace that it inherits.
    case defaultNamespace
    /// A library failed.
    case internalFailure
  }

  /// The kind of reason.
  public let code: Code
  /// The reason in words.
  public let message: String
  /// The number of the signature, from 1 in document order, or nil if the reason concerns none.
  public internal(set) var signature: Int?

  init(_ code: Code, _ message: String, signature: Int? = nil) {
    self.code = code
    self.message = message
    self.signature = signature
  }
}

extension SignatureError: CustomStringConvertible {
  /// The reason in words, with the number of the signature.
  public var description: String { signature.map { "signature \($0): \(message)" } ?? message }
}
