internal import Ethereum
internal import FoundationEssentials
internal import Platform
internal import WalletClient
internal import XMLSecurity

/// Reads TokenScripts and runs the checks that are switched on.
struct TokenScriptReader: Sendable {
  /// The version of the reader, raised whenever the same bytes may be read differently than before.
  static let version = 7
  /// The warning about a source that the official tool has not built yet.
  static let unbuilt =
    "it is a source that is not built: tokenscript build replaces $tst{…} and ts:include"
  /// The reason why the file of a signer without a chain to a root is refused.
  static let untrusted = "the signer is not trusted"
  /// The largest number of addresses in a file; each costs the index some kilobytes. Real files have ten at most.
  static let addressLimit = 256
  /// The largest number of bytes of a label, or of the root's name; longer ones are cut.
  static let textLimit = 128
  /// The largest number of texts of the label that are kept.
  private static let labelLimit = 32
  /// The largest number of bytes in a contract's name.
  static let nameLimit = 256

  /// Verifies signatures, or nil if the check is off.
  var verifier: SignatureVerifier?
  /// Validates against the schemas, or nil if the check is off.
  var schemas: (any SchemaCheck)?
  /// True if only files whose signatures hold are validated: the others are refused anyway.
  var needsSignature = false
  /// Holds the roots of certificate chains, or nil if the check is off.
  var roots: TrustStore?

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - now: the present time; a later signing time counts as absent.
  /// - Returns: the meaning of the file.
  /// - Throws: ``FileRefusal`` if it is no TokenScript.
  func read(_ bytes: [UInt8], now: Timestamp) throws(FileRefusal) -> TokenScriptFile {
    let document = try Self.parse(bytes)
    var file = try read(document, of: bytes, now: now).file
    validate(document, bytes, &file)
    return file
  }

  /// Parses a file.
  ///
  /// - Throws: ``FileRefusal`` if it is no XML.
  static func parse(_ bytes: [UInt8]) throws(FileRefusal) -> XMLDocument {
    do { return try XMLDocument(parsing: bytes) } catch { throw FileRefusal(error) }
  }

  /// Reads a document, and verifies its signatures.
  ///
  /// - Parameters:
  ///   - bytes: the bytes of the document.
  ///   - now: the present time; a later signing time counts as absent.
  /// - Returns: the meaning of the file without the finding of ``validate(_:_:_:)``, and the last signature if all of
  ///   them hold.
  /// - Throws: ``FileRefusal`` if it is no TokenScript.
  func read(
    _ document: XMLDocument, of bytes: [UInt8], now: Timestamp
  ) throws(FileRefusal) -> (file: TokenScriptFile, signature: VerifiedSignature?) {
    var file = try Self.meaning(of: document.root)
    file.cids = ContentIdentifiers.all(of: bytes)
    guard let verifier else { return (file, nil) }
    do throws(SignatureError) {
      let signatures = try verifier.verify(document)
      file.signature = .passed
      for signature in signatures where signature.signingTime == nil {
        if let text = signature.signingTimeText {
          file.warnings.append("the signing time “\(text.bounded(to: 60))” is not a date")
        }
      }
      guard let last = signatures.last else { return (file, nil) }
      let time = last.signingTime.flatMap { $0 <= now ? $0 : nil }
      file.signer = TokenScriptFile.Signer(
        commonName: last.certificate?.commonName?.bounded(to: Self.nameLimit),
        key: last.key.identifier, authority: last.authority(at: time)?.identifier,
        kind: last.key.kind.rawValue, time: last.signingTime,
        expires: last.certificate?.notAfter,
        isSelfSigned: last.certificate.map { $0.issuer == $0.subject } ?? false)
      if let roots {
        switch roots.check(last, at: time) {
        case .trusted: file.trust = .passed
        case .untrusted(let reason):
          file.trust = .failed(FileRefusal(reason: Self.untrusted, detail: reason))
        }
      }
      return (file, last)
    } catch { file.signature = .failed(FileRefusal(error)) }
    return (file, nil)
  }

  /// Validates a document that was read, unless the check is off or its outcome can't matter.
  ///
  /// This comes after the signature, because a schema's patterns can keep a validator busy for very long.
  ///
  /// - Parameters:
  ///   - bytes: the bytes of the document.
  func validate(_ document: XMLDocument, _ bytes: [UInt8], _ file: inout TokenScriptFile) {
    guard let schemas else { return }
    if needsSignature, case .failed = file.signature { return }
    file.validity = schemas.finding(for: document, of: bytes, file.schema)
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
    file.title = root.attribute("name")?.shown(limit: textLimit)
    file.labels = Array(root.labels(limit: textLimit).prefix(labelLimit))
    file.icon = root.icon(allowingClearText: false)
    let lists = root.children(named: "origins", in: namespace)
    let origins = Set(
      lists.flatMap { $0.children(named: "ethereum", in: namespace) }
        .compactMap { $0.attribute("contract") })
    var warnings = WarningList()
    let declared = root.children(named: "contract", in: namespace)
    let hasPlaceholder = (declared + lists).contains { $0.mentions("$tst{") }
    if root.hasElement(named: "include") || hasPlaceholder {
      warnings.add(unbuilt)
    }
    if root.hasOtherPrefix(than: "ts") {
      warnings.add(
        "its elements have another prefix than ts:, or none, and clients of today read only ts:")
    }
    var named: Set<String> = []
    var contracts: Set<TokenScriptFile.Contract> = []
    for contract in declared {
      guard let name = contract.attribute("name") else { continue }
      guard name.utf8.count <= nameLimit else {
        throw FileRefusal(
          reason: "a contract's name is too long",
          detail: "line \(contract.line): \(name.utf8.count) bytes; \(nameLimit) are allowed")
      }
      named.insert(name)
      for element in contract.children(named: "address", in: namespace) {
        let contract = Self.contract(
          element, name: name, isOrigin: origins.contains(name), &warnings)
        guard let contract, contracts.insert(contract).inserted else { continue }
        guard file.contracts.count < addressLimit else {
          throw FileRefusal(
            reason: "too many addresses", detail: "more than \(addressLimit) of its contracts")
        }
        file.contracts.append(contract)
      }
    }
    for missing in origins.subtracting(named).sorted() {
      warnings.add("the origin “\(missing)” is not among the contracts")
    }
    file.warnings = warnings.texts
    return file
  }

  /// Reads one `address` element, whose faults become warnings.
  private static func contract(
    _ element: XMLElement, name: String, isOrigin: Bool, _ warnings: inout WarningList
  ) -> TokenScriptFile.Contract? {
    let text = element.text.trimmingXMLSpace
    guard let address = EthereumAddress(text) else {
      warnings.add("line \(element.line): “\(text.bounded(to: 60))” is not an address")
      return nil
    }
    if EthereumAddress.checksum(of: text) == .wrong {
      warnings.add("line \(element.line): the checksum of \(text) is wrong")
    }
    let network = element.attribute("network")
    guard let chain = network.map({ ChainID(xmlInteger: $0) }) ?? ChainID.main else {
      let network = (network ?? "").bounded(to: 60)
      warnings.add("line \(element.line): the network “\(network)” is not the number of a chain")
      return nil
    }
    if network == nil {
      warnings.add("line \(element.line): \(text) names no network, so it counts as chain 1")
    }
    return TokenScriptFile.Contract(address: address, name: name, chain: chain, isOrigin: isOrigin)
  }
}

extension VerifiedSignature {
  /// The key that has lent its standing to the signer's, by a certificate that is valid at a moment or, without one, by any.
  func authority(at time: Timestamp?) -> PublicKey? {
    guard let certificate, time.map(certificate.isValid) ?? true else { return nil }
    return certificate.delegator
  }
}

extension FileRefusal {
  /// The reason for a document with a document type declaration.
  static let doctype = "a document type declaration, which is not allowed"
  /// The reason for a signature that the official tool has made of a root with a default namespace.
  static let defaultNamespace = "the signature leaves out the default namespace of the root"

  /// Makes the refusal of a document that can't be parsed.
  fileprivate init(_ error: XMLError) {
    let reason =
      switch error.code {
      case .malformed: "not well-formed XML"
      case .tooLarge: "too large"
      case .tooDeep: "too many levels"
      case .tooMany: "too many elements or attributes"
      case .encoding: "not UTF-8"
      case .doctype: Self.doctype
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
      case .defaultNamespace: Self.defaultNamespace
      case .internalFailure: "the signature could not be checked"
      }
    self.init(reason: reason, detail: "\(error)", isTransient: error.code == .internalFailure)
  }
}

/// The warnings about one file: the first are kept, the others counted.
///
/// They quote the file, and each row of the index has them.
struct WarningList {
  private static let limit = 32
  private static let lengthLimit = 160

  private var first: [String] = []
  private var others = 0

  /// The warnings, and a last one for those that were only counted.
  var texts: [String] { others == 0 ? first : first + ["and \(others) more"] }

  /// Adds a warning.
  ///
  /// - Parameter text: a sentence, which isn't made if it would only be counted.
  mutating func add(_ text: @autoclosure () -> String) {
    if first.count < Self.limit {
      first.append(text().bounded(to: Self.lengthLimit))
    } else {
      others += 1
    }
  }
}

extension StringProtocol {
  /// Returns the text, or as many of its characters as fit into a number of bytes with an ellipsis behind them.
  func bounded(to limit: Int) -> String {
    guard utf8.count > limit else { return String(self) }
    var end = utf8.index(startIndex, offsetBy: limit)
    // No scalar is cut.
    while end > startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(end, offsetBy: -1) }
    return String(self[..<end]) + "…"
  }
}

extension XMLElement {
  /// Returns the texts of the element's label, the best one first: the English one, or else the first.
  ///
  /// - Parameter limit: the largest number of bytes of a text.
  func labels(limit: Int) -> [String] {
    guard let label = child(named: "label", in: namespace) else { return [] }
    let parts = label.children.prefix(Self.labelLimit).flatMap { part -> [XMLElement] in
      guard part.name == "plurals" else { return [part] }
      let forms = part.children(named: "string", in: namespace).prefix(Self.labelLimit)
      // One token is shown.
      return ["one", "other"].flatMap { quantity in
        forms.filter { $0.attribute("quantity") == quantity }
      } + forms.filter { !["one", "other"].contains($0.attribute("quantity")) }
    }
    return Self.englishFirst(parts.isEmpty ? [label] : parts)
      .map { $0.text.shown(limit: limit) }.filter { !$0.isEmpty }
  }

  /// Returns the text of the best of several elements of a name below the element's `meta`.
  ///
  /// - Parameters:
  ///   - limit: the largest number of bytes of the text.
  /// - Returns: nil if there is none.
  func meta(_ name: String, limit: Int) -> String? {
    let parts = child(named: "meta", in: namespace)?.children(named: name, in: namespace) ?? []
    let text = Self.englishFirst(parts).first?.text.shown(limit: limit)
    return text?.isEmpty == true ? nil : text
  }

  /// Returns the icon below the element's `meta`: a URL that may be opened, or a small picture in a `data:` URL.
  ///
  /// - Parameter allowingClearText: whether `http:` is allowed.
  func icon(allowingClearText: Bool) -> String? {
    guard var text = meta("iconUrl", limit: PictureURL.brokenLengthLimit) else { return nil }
    // The programs that make base64 break it into lines.
    if PictureURL.isData(text) { text.removeAll { $0 == " " } }
    return allowingClearText && text.hasPrefix("http:") ? text.openable : text.openableIcon
  }

  /// The number of texts that are read of a label.
  private static let labelLimit = 64

  private static func englishFirst(_ elements: [XMLElement]) -> [XMLElement] {
    let isEnglish = { (element: XMLElement) in
      element.language.map { $0 == "en" || $0.lowercased().hasPrefix("en-") } ?? false
    }
    return elements.filter(isEnglish) + elements.filter { !isEnglish($0) }
  }
}

extension String {
  /// Returns the text in one line, without control characters and marks of direction.
  ///
  /// - Parameter limit: the largest number of its bytes; a longer text ends with an ellipsis.
  func shown(limit: Int) -> String {
    let line = split(whereSeparator: \.isWhitespace).joined(separator: " ")
    var text = ""
    text.unicodeScalars.append(
      contentsOf: line.unicodeScalars.lazy.filter {
        $0.properties.generalCategory != .control && !$0.properties.isBidiControl
      })
    return text.utf8.count > limit ? text.bounded(to: limit - 3) : text
  }

  /// The text if it is a URL that browsers and wallets may open: `https:`, `http:` or `ipfs:` in visible ASCII.
  var openable: String? {
    let isOpenable =
      utf8.count <= 2048 && utf8.allSatisfy { (0x21..<0x7f).contains($0) }
      && ["https://", "http://", "ipfs://"].contains { hasPrefix($0) }
    return isOpenable ? self : nil
  }

  /// The text if it is the URL of an icon, which is not fetched in the clear, or a small picture in a `data:` URL.
  var openableIcon: String? {
    if PictureURL.isData(self) { return PictureURL.isPicture(self) ? self : nil }
    return hasPrefix("http:") ? nil : openable
  }
}

/// A picture in a URL (RFC 2397), of the kinds that browsers show without running anything.
enum PictureURL {
  /// The largest picture in bytes.
  private static let sizeLimit = 16 << 10
  /// The longest URL: the picture in base64, with the type before it.
  static let lengthLimit = (sizeLimit + 2) / 3 * 4 + 32
  /// The longest one in lines of 32 characters or more. One that is cut there is too long in any case.
  static let brokenLengthLimit = lengthLimit + lengthLimit / 32 + 4

  /// The types, and the bytes that a picture of each begins with.
  private static let types: [(type: String, beginning: [[UInt8]])] = [
    ("png", [[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]]),
    ("jpeg", [[0xff, 0xd8, 0xff]]),
    ("gif", [Array("GIF87a".utf8), Array("GIF89a".utf8)]),
    ("webp", [Array("RIFF".utf8)]),
  ]

  /// Returns whether a text has the scheme of such URLs.
  static func isData(_ text: String) -> Bool { text.prefix(5).lowercased() == "data:" }

  /// Returns whether a text is a picture's URL, and the bytes begin as its type says.
  static func isPicture(_ text: String) -> Bool {
    guard text.utf8.count <= lengthLimit else { return false }
    for (type, beginnings) in types {
      let head = "data:image/\(type);base64,"
      // Neither the scheme nor the type has a case.
      guard text.prefix(head.count).lowercased() == head else { continue }
      guard let data = Data(base64Encoded: String(text.dropFirst(head.count))),
        data.count <= sizeLimit, beginnings.contains(where: { data.starts(with: $0) })
      else { return false }
      return type != "webp" || data.dropFirst(8).starts(with: "WEBP".utf8)
    }
    return false
  }
}
