internal import CXML

/// A Signature element with a checked structure: its references, transforms and algorithms.
///
/// Only the structure that covers the whole document is accepted, so that a signature that holds has signed all bytes.
/// The checks come before any cryptography, and are made on the tree that is verified.
struct SignatureStructure {
  let element: XMLElement
  /// The identifier of the SignatureMethod.
  let method: String
  let keyInfo: XMLElement
  /// The SignedProperties that a reference covers, or nil.
  let signedProperties: XMLElement?

  /// The bytes of the SignatureValue.
  var value: [UInt8]? { element.child(named: "SignatureValue", in: Algorithm.signature)?.base64 }

  /// The number of prefixes in all lists of `InclusiveNamespaces`, each of which is looked for at each element.
  let prefixes: Int

  /// Real lists have one or two prefixes.
  private static let maximumPrefixes = 16
  private static let maximumPrefixLength = 64

  init(_ element: XMLElement) throws(SignatureError) {
    self.element = element
    let parts = element.children
    guard parts.count >= 3, parts[0].isNamed("SignedInfo", in: Algorithm.signature),
      parts[1].isNamed("SignatureValue", in: Algorithm.signature),
      parts[2].isNamed("KeyInfo", in: Algorithm.signature),
      parts[3...].allSatisfy({ $0.isNamed("Object", in: Algorithm.signature) })
    else {
      throw SignatureError(
        .structure, "it must hold SignedInfo, SignatureValue and KeyInfo, then at most Objects")
    }
    keyInfo = parts[2]

    let info = parts[0].children
    try Self.checkAttributes(of: parts[0], allowed: ["Id"])
    guard info.count >= 3, info[0].isNamed("CanonicalizationMethod", in: Algorithm.signature),
      info[1].isNamed("SignatureMethod", in: Algorithm.signature),
      info[2...].allSatisfy({ $0.isNamed("Reference", in: Algorithm.signature) })
    else {
      throw SignatureError(
        .structure, "SignedInfo must hold CanonicalizationMethod, SignatureMethod and References")
    }
    let ownPrefixes = try Self.checkCanonicalization(info[0])
    method = try Self.algorithm(
      of: info[1], in: Algorithm.rsaSignatures.union(Algorithm.ecdsaSignatures))

    let references = try info[2...].map { element throws(SignatureError) in
      try Reference(element)
    }
    guard references.count(where: { $0.target == .document }) == 1 else {
      throw SignatureError(.reference, "exactly one Reference must cover the whole document")
    }
    guard references.count <= 2 else {
      throw SignatureError(.reference, "more than two References")
    }
    prefixes = references.reduce(ownPrefixes) { $0 + $1.prefixes }
    signedProperties = try references.compactMap(\.identifier).first.map {
      id throws(SignatureError) in
      try Self.signedProperties(withID: id, in: parts[3...])
    }
  }

  /// Returns the properties with an Id, which must be unique, in the place that XAdES requires.
  private static func signedProperties(
    withID id: String, in objects: ArraySlice<XMLElement>
  ) throws(SignatureError) -> XMLElement {
    let candidates =
      objects
      .flatMap { $0.children(named: "QualifyingProperties", in: Algorithm.advancedSignature) }
      .flatMap { $0.children(named: "SignedProperties", in: Algorithm.advancedSignature) }
      .filter { $0.attribute("Id") == id }
    guard candidates.count == 1 else {
      throw SignatureError(
        .reference, "a Reference by Id may only be to the SignedProperties of the same Signature")
    }
    guard candidates[0].document.isIdentifierUnique(id) else {
      throw SignatureError(.reference, "the Id “\(id)” stands more than once in the document")
    }
    return candidates[0]
  }

  /// A Reference with acceptable transforms and digest.
  private struct Reference {
    enum Target: Equatable { case document, signedProperties(id: String) }
    let target: Target
    let prefixes: Int

    var identifier: String? { if case .signedProperties(let id) = target { id } else { nil } }

    init(_ element: XMLElement) throws(SignatureError) {
      try checkAttributes(of: element, allowed: ["Id", "URI", "Type"])
      var parts = element.children
      let transforms =
        parts.first.map { $0.isNamed("Transforms", in: Algorithm.signature) } == true
        ? parts.removeFirst() : nil
      guard parts.count == 2, parts[0].isNamed("DigestMethod", in: Algorithm.signature),
        parts[1].isNamed("DigestValue", in: Algorithm.signature)
      else {
        throw SignatureError(
          .structure, "a Reference must hold Transforms, DigestMethod and DigestValue")
      }
      _ = try algorithm(of: parts[0], in: Algorithm.digests)

      let uri = element.attribute("URI") ?? ""
      if uri.isEmpty {
        target = .document
      } else if element.attribute("Type") == Algorithm.signedProperties, uri.hasPrefix("#"),
        Self.isName(uri.dropFirst())
      {
        target = .signedProperties(id: String(uri.dropFirst()))
      } else {
        throw SignatureError(
          .reference, "a Reference to “\(uri)”: only the whole document can be signed")
      }
      prefixes = try Self.checkTransforms(transforms, of: target)
    }

    /// Returns the number of prefixes that the canonicalization lists.
    private static func checkTransforms(
      _ element: XMLElement?, of target: Target
    ) throws(SignatureError) -> Int {
      var transforms = element?.children ?? []
      if let element { try checkAttributes(of: element, allowed: []) }
      guard transforms.allSatisfy({ $0.isNamed("Transform", in: Algorithm.signature) }) else {
        throw SignatureError(.structure, "Transforms must hold Transform elements only")
      }
      if target == .document {
        guard transforms.first?.attribute("Algorithm") == Algorithm.enveloped else {
          throw SignatureError(
            .reference, "the document's first transform must be enveloped-signature")
        }
        let enveloped = transforms.removeFirst()
        try checkAttributes(of: enveloped, allowed: ["Algorithm"])
        guard enveloped.children.isEmpty else {
          throw SignatureError(.structure, "enveloped-signature takes no parameters")
        }
      }
      guard transforms.count <= 1 else {
        throw SignatureError(.reference, "more than one transform beside enveloped-signature")
      }
      guard let last = transforms.first else { return 0 }
      return try checkCanonicalization(last)
    }

    /// Returns whether a text is a plain name, without a special meaning in an XPointer.
    private static func isName(_ text: Substring) -> Bool {
      text.utf8.first.map { $0 >= 0x80 || $0 == UInt8(ascii: "_") || isLetter($0) } == true
        && text.utf8.allSatisfy {
          $0 >= 0x80 || isLetter($0) || ($0 >= 0x30 && $0 <= 0x39) || "_-.".utf8.contains($0)
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
      byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
    }
  }

  /// Checks a canonicalization, which may have no parameter but the list of prefixes of the exclusive one.
  ///
  /// - Returns: the number of prefixes in the list.
  private static func checkCanonicalization(_ element: XMLElement) throws(SignatureError) -> Int {
    let identifier = try attribute("Algorithm", of: element)
    guard Algorithm.canonicalizations.contains(identifier) else {
      throw SignatureError(.algorithm, "“\(identifier)” is not accepted here")
    }
    let isExclusive = identifier.hasPrefix(Algorithm.exclusiveC14N)
    let parameters = element.children
    guard
      parameters.isEmpty
        || isExclusive && parameters.count == 1
          && parameters[0].isNamed("InclusiveNamespaces", in: Algorithm.exclusiveC14N)
    else { throw SignatureError(.structure, "“\(identifier)” has parameters it can't have") }
    guard let list = parameters.first else { return 0 }
    try checkAttributes(of: list, allowed: ["PrefixList"])
    let prefixes = (list.attribute("PrefixList") ?? "").split(whereSeparator: \.isWhitespace)
    guard prefixes.count <= maximumPrefixes,
      prefixes.allSatisfy({ $0.utf8.count <= maximumPrefixLength })
    else {
      throw SignatureError(
        .structure,
        "a PrefixList of more than \(maximumPrefixes) prefixes or \(maximumPrefixLength) bytes each"
      )
    }
    return prefixes.count
  }

  /// Returns the identifier of an accepted algorithm, which must have no parameters.
  private static func algorithm(
    of element: XMLElement, in accepted: Set<String>
  ) throws(SignatureError) -> String {
    let identifier = try attribute("Algorithm", of: element)
    guard accepted.contains(identifier) else {
      throw SignatureError(.algorithm, "“\(identifier)” is not accepted as a \(element.name)")
    }
    guard element.children.isEmpty else {
      throw SignatureError(.structure, "“\(identifier)” takes no parameters")
    }
    return identifier
  }

  private static func attribute(
    _ name: String, of element: XMLElement
  ) throws(SignatureError) -> String {
    try checkAttributes(of: element, allowed: [name])
    guard let value = element.attribute(name) else {
      throw SignatureError(.structure, "\(element.name) has no \(name)")
    }
    return value
  }

  /// Checks that an element has no attributes but those allowed.
  ///
  /// libxmlsec1 reads attributes by their local names, in any namespace, so an attribute in another namespace could take
  /// the place of the one that is checked here.
  private static func checkAttributes(
    of element: XMLElement, allowed: Set<String>
  ) throws(SignatureError) {
    var next = unsafe element.node.pointee.properties
    while let attribute = unsafe next {
      let name = unsafe String(cString: attribute.pointee.name)
      guard unsafe attribute.pointee.ns == nil, allowed.contains(name) else {
        throw SignatureError(.structure, "\(element.name) can't have an attribute “\(name)”")
      }
      unsafe next = attribute.pointee.next
    }
  }
}

extension XMLDocument {
  /// Returns whether exactly one attribute called Id, in any case and namespace, has a value.
  fileprivate func isIdentifierUnique(_ id: String) -> Bool {
    var count = 0
    unsafe root.nodes.forEach { node in
      var property = unsafe node.pointee.properties
      while let attribute = unsafe property {
        if unsafe xmlStrcasecmp(attribute.pointee.name, "id") == 0,
          let value = unsafe xmlNodeListGetString(pointer, attribute.pointee.children, 1)
        {
          if unsafe xmlStrEqual(value, id) == 1 { count += 1 }
          unsafe cxml_free(value)
        }
        unsafe property = attribute.pointee.next
      }
    }
    return count == 1
  }
}

/// The namespaces and identifiers of XML Signature, and the accepted algorithms.
enum Algorithm {
  static let signature = "http://www.w3.org/2000/09/xmldsig#"
  static let signature11 = "http://www.w3.org/2009/xmldsig11#"
  static let signatureMore = "http://www.w3.org/2001/04/xmldsig-more#"
  static let advancedSignature = "http://uri.etsi.org/01903/v1.3.2#"
  static let signedProperties = "http://uri.etsi.org/01903#SignedProperties"
  static let exclusiveC14N = "http://www.w3.org/2001/10/xml-exc-c14n#"
  static let enveloped = signature + "enveloped-signature"
  static let sha256 = "http://www.w3.org/2001/04/xmlenc#sha256"
  static let rsaSHA256 = signatureMore + "rsa-sha256"
  static let ecdsaSHA256 = signatureMore + "ecdsa-sha256"

  /// Canonical XML 1.0 and 1.1, and exclusive 1.0.
  ///
  /// The variants with comments make no difference to the document, as a reference without XPointer omits comments.
  static let canonicalizations: Set = [
    "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
    "http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments",
    "http://www.w3.org/2006/12/xml-c14n11",
    "http://www.w3.org/2006/12/xml-c14n11#WithComments",
    exclusiveC14N, exclusiveC14N + "WithComments",
  ]

  static let digests: Set = [
    sha256, signatureMore + "sha384", "http://www.w3.org/2001/04/xmlenc#sha512",
  ]

  static let rsaSignatures: Set = [
    rsaSHA256, signatureMore + "rsa-sha384", signatureMore + "rsa-sha512",
  ]

  static let ecdsaSignatures: Set = [
    ecdsaSHA256, signatureMore + "ecdsa-sha384", signatureMore + "ecdsa-sha512",
  ]
}
