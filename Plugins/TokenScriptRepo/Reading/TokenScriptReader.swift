internal import Cryptography
package import Time
package import XMLSecurity

/// Reads TokenScripts and runs the checks that are switched on.
package struct TokenScriptReader: Sendable {
  /// The version of the reader, raised whenever the same bytes may be read differently than before.
  package static let version = 2
  /// The largest number of addresses in a file; each costs the index some kilobytes.
  package static let addressLimit = 10_000

  /// Verifies signatures, or nil if the check is off.
  package var verifier: SignatureVerifier?
  /// Validates against the schemas, or nil if the check is off.
  package var schemas: SchemaValidator?
  /// Holds the roots of certificate chains, or nil if the check is off.
  package var roots: TrustStore?

  /// Makes a reader with all checks off.
  package init() {}

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - bytes: the whole file.
  ///   - now: the present time; a later signing time counts as absent.
  /// - Returns: the meaning of the file.
  /// - Throws: ``FileRefusal`` if it is no TokenScript.
  package func read(_ bytes: [UInt8], now: Timestamp) throws(FileRefusal) -> TokenScriptFile {
    try read(Self.parse(bytes), now: now).file
  }

  /// Parses a file.
  ///
  /// - Throws: ``FileRefusal`` if it is no XML.
  package static func parse(_ bytes: [UInt8]) throws(FileRefusal) -> XMLDocument {
    do { return try XMLDocument(parsing: bytes) } catch { throw FileRefusal(error) }
  }

  /// Reads a document.
  ///
  /// - Parameters:
  ///   - document: the whole file.
  ///   - now: the present time; a later signing time counts as absent.
  /// - Returns: the meaning of the file, and the last signature if all of them hold.
  /// - Throws: ``FileRefusal`` if it is no TokenScript.
  package func read(
    _ document: XMLDocument, now: Timestamp
  ) throws(FileRefusal) -> (file: TokenScriptFile, signature: VerifiedSignature?) {
    var file = try Self.meaning(of: document.root)
    if let schemas { file.validity = Self.validity(of: document, file.schema, by: schemas) }
    guard let verifier else { return (file, nil) }
    do throws(SignatureError) {
      let signatures = try verifier.verify(document)
      file.signature = .passed
      for signature in signatures where signature.signingTime == nil {
        if let text = signature.signingTimeText {
          file.warnings.append("the signing time “\(text)” is not a date")
        }
      }
      guard let last = signatures.last else { return (file, nil) }
      file.signer = TokenScriptFile.Signer(
        commonName: last.certificate?.commonName, key: last.key.identifier,
        kind: last.key.kind.rawValue, time: last.signingTime, expires: last.certificate?.notAfter)
      if let roots {
        let time = last.signingTime.flatMap { $0 <= now ? $0 : nil }
        switch roots.check(last, at: time) {
        case .trusted: file.trust = .passed
        case .untrusted(let reason):
          file.trust = .failed(FileRefusal(reason: "the signer is not trusted", detail: reason))
        }
      }
      return (file, last)
    } catch { file.signature = .failed(FileRefusal(error)) }
    return (file, nil)
  }

  /// Reads the version and the contracts; only elements of the root's own namespace count.
  private static func meaning(of root: XMLElement) throws(FileRefusal) -> TokenScriptFile {
    let namespace = root.namespace
    guard let schema = namespace.flatMap({ SchemaVersion(namespace: $0) }) else {
      throw FileRefusal(
        reason: "the root element is in no TokenScript namespace",
        detail: "\(root.name) in \(namespace ?? "no namespace")")
    }
    var file = TokenScriptFile(schema: schema, root: root.name)
    guard root.name == "token" else { return file }
    var origins: Set<String> = []
    for list in root.children(named: "origins", in: namespace) {
      for origin in list.children(named: "ethereum", in: namespace) {
        if let name = origin.attribute("contract") { origins.insert(name) }
      }
    }
    var named: Set<String> = []
    var contracts: Set<TokenScriptFile.Contract> = []
    for contract in root.children(named: "contract", in: namespace) {
      guard let name = contract.attribute("name") else { continue }
      named.insert(name)
      for element in contract.children(named: "address", in: namespace) {
        let contract = Self.contract(
          element, name: name, isOrigin: origins.contains(name), &file.warnings)
        guard let contract, contracts.insert(contract).inserted else { continue }
        file.contracts.append(contract)
      }
    }
    guard file.contracts.count <= addressLimit else {
      throw FileRefusal(
        reason: "too many addresses", detail: "\(file.contracts.count) of \(addressLimit)")
    }
    for missing in origins.subtracting(named).sorted() {
      file.warnings.append("the origin “\(missing)” is not among the contracts")
    }
    return file
  }

  /// Reads one `address` element, whose faults become warnings.
  private static func contract(
    _ element: XMLElement, name: String, isOrigin: Bool, _ warnings: inout [String]
  ) -> TokenScriptFile.Contract? {
    let text = element.text.trimmingXMLSpace
    guard let address = EthereumAddress(text) else {
      warnings.append("line \(element.line): “\(text.prefix(60))” is not an address")
      return nil
    }
    if EthereumAddress.checksum(of: text) == .wrong {
      warnings.append("line \(element.line): the checksum of \(text) is wrong")
    }
    let number = element.attribute("network")
    let network = number.flatMap { UInt64($0.trimmingXMLSpace) }
    if network == nil {
      let fault = number.map { "the network “\($0.prefix(60))” is not a number" }
      warnings.append("line \(element.line): \(fault ?? "\(text) names no network")")
    }
    return TokenScriptFile.Contract(
      address: address, name: name, network: network, isOrigin: isOrigin)
  }

  private static func validity(
    of document: XMLDocument, _ version: SchemaVersion, by schemas: SchemaValidator
  ) -> TokenScriptFile.Finding {
    switch schemas.validate(document, version: version.path) {
    case .valid: .passed
    case .noSchema:
      .failed(FileRefusal(reason: "there is no schema for its namespace", detail: version.path))
    case .invalid(let problems):
      .failed(
        FileRefusal(
          reason: "the schema does not allow it",
          detail: problems.prefix(5).map { "\($0)" }.joined(separator: "; ")))
    }
  }
}

extension FileRefusal {
  /// Makes the refusal of a document that can't be parsed.
  fileprivate init(_ error: XMLError) {
    let reason =
      switch error.code {
      case .malformed: "not well-formed XML"
      case .tooLarge: "too large"
      case .tooDeep: "too many levels"
      case .tooMany: "too many elements or attributes"
      case .encoding: "not UTF-8"
      case .doctype: "a document type declaration, which is not allowed"
      }
    self.init(reason: reason, detail: "\(error)", isMalformed: error.code == .malformed)
  }

  fileprivate init(_ error: SignatureError) {
    let reason =
      switch error.code {
      case .unsigned: "not signed"
      case .structure, .reference: "the signature does not cover the document as it must"
      case .algorithm: "the signature uses an algorithm that is not allowed"
      case .key, .certificate: "the signature's key can't be used"
      case .changed: "the document was changed after it was signed"
      case .forged: "the signature does not belong to its key"
      case .internalFailure: "the signature could not be checked"
      }
    self.init(
      reason: reason, detail: "\(error)", isTransient: error.code == .internalFailure)
  }
}
