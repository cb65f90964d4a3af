internal import XMLSecurity

/// Judges files that somebody sends in to be verified, by the checks of the moment.
final class FileVerification: Sendable {
  /// What is told of a file that passes; wallets show it to people.
  struct Pass: Equatable, Sendable {
    /// The issuer of the signer's certificate (RFC 2253); empty for a bare key.
    let issuer: String
    /// The subject of the signer's certificate (RFC 2253); empty for a bare key.
    let subject: String
    /// What the signature calls the key, else the key identifier.
    let keyName: String
    /// The certificate's signature algorithm, such as `SHA256withRSA`; of a bare key its kind.
    let keyType: String
  }

  private let reader: TokenScriptReader
  private let rules: RepositoryRules

  /// What nothing passes.
  init() {
    reader = TokenScriptReader()
    rules = RepositoryRules()
  }

  /// The checks of the repository, but the signature in any case, and the chain unless the
  /// configuration says otherwise.
  ///
  /// - Parameters:
  ///   - configuration: which checks are made.
  ///   - reader: with what the repository's own checks need.
  init(_ configuration: TokenScriptConfiguration, _ reader: TokenScriptReader) {
    var reader = reader
    var rules = configuration.rules
    reader.verifier = SignatureVerifier()
    rules.signature = .require
    if !configuration.verifiesUntrusted { rules.trust = .require }
    if rules.trust != .off, reader.roots == nil {
      // Without roots nobody's chain holds, which is for the sender to hear.
      reader.roots = try? TrustStore(rootsFile: configuration.roots)
    }
    self.reader = reader
    self.rules = rules
  }

  /// Judges a file; takes a core for some milliseconds.
  ///
  /// - Parameters:
  ///   - bytes: the whole file.
  ///   - now: the time, in seconds since 1970.
  /// - Returns: whose signature it bears.
  /// - Throws: ``Refusal``.
  func verify(_ bytes: [UInt8], now: Int64) throws(Refusal) -> Pass {
    let document: XMLDocument
    do throws(XMLError) { document = try XMLDocument(parsing: bytes) } catch {
      throw Refusal(error)
    }
    let (file, signature) = try reader.read(document, now: now)
    if let refusal = rules.judge(file).refusal { throw refusal }
    guard let signature else { throw Refusal(reason: "its signer is unknown", detail: "") }
    let certificate = signature.certificate
    return Pass(
      issuer: certificate?.issuer ?? "", subject: certificate?.subject ?? "",
      keyName: Self.keyName(in: document.root) ?? signature.key.identifier,
      keyType: certificate?.signatureAlgorithm ?? signature.key.kind.rawValue)
  }

  /// The first KeyName of the last signature.
  private static func keyName(in root: XMLElement) -> String? {
    let namespace = "http://www.w3.org/2000/09/xmldsig#"
    return root.children(named: "Signature", in: namespace).last?
      .child(named: "KeyInfo", in: namespace)?.child(named: "KeyName", in: namespace)?.text
  }
}
