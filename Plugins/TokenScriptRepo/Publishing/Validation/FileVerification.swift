internal import Cryptography
internal import Ethereum
internal import Platform
internal import XMLSecurity

/// Verifies files that clients submit.
final class FileVerification: Sendable {
  /// Reads and verifies; it validates apart from that.
  private let reader: TokenScriptReader
  private let schemas: (any SchemaCheck)?
  private let rules: RepositoryRules

  /// Makes a verification that no file passes.
  init() {
    reader = TokenScriptReader()
    schemas = nil
    rules = RepositoryRules()
  }

  /// Makes a verification by the repository's checks. The signature is always required, and the chain unless the
  /// configuration says otherwise.
  init(
    _ configuration: TokenScriptConfiguration, _ reader: TokenScriptReader,
    answers: [OriginContract: ChainAnswer]
  ) {
    var reader = reader
    var rules = configuration.rules
    reader.verifier = SignatureVerifier()
    rules.signature = .require
    rules.answers = answers
    if !configuration.verifiesUntrusted { rules.trust = .require }
    if rules.trust != .off, reader.roots == nil {
      // Without roots no chain holds, and the response says so.
      reader.roots = try? TrustStore(rootsFile: configuration.roots)
    }
    schemas = reader.schemas
    reader.schemas = nil
    self.reader = reader
    self.rules = rules
  }

  /// Verifies a file, which keeps a core busy for some milliseconds.
  ///
  /// Only a file of a signer that may pass is checked against its schema, which can take much longer.
  ///
  /// - Returns: the facts about the signer, which wallets show to people: the certificate's issuer and subject (RFC 2253)
  ///   and its signature algorithm, such as `SHA256withRSA`, or the kind of a bare key. A `KeyName` beside the key is not
  ///   signed, so the key identifier is returned instead.
  /// - Throws: ``FileRefusal`` if the file does not pass.
  func verify(_ bytes: [UInt8], now: Timestamp) throws(FileRefusal) -> [String: String] {
    let (_, signature) = try check(bytes, by: rules, now: now)
    let certificate = signature.certificate
    return [
      "result": "pass", "issuer": certificate?.issuer ?? "", "subject": certificate?.subject ?? "",
      "keyName": signature.key.identifier,
      "keyType": certificate?.signatureAlgorithm ?? signature.key.kind.rawValue,
    ]
  }

  /// Reads a file that is to be published, with all checks of the repository.
  ///
  /// - Throws: ``FileRefusal`` if it is no TokenScript.
  func submission(
    _ bytes: [UInt8], now: Timestamp
  ) throws(FileRefusal) -> PublicationRules.Submission {
    let document = try TokenScriptReader.parse(bytes)
    var (file, signature) = try reader.read(document, of: bytes, now: now)
    // Dating a file back to before the certificate's end gives no authority.
    if signature?.authority(at: now) == nil { file.signer?.authority = nil }
    if let schemas, file.signature == .passed {
      file.validity = schemas.finding(for: document, of: bytes, file.schema)
    }
    return PublicationRules.Submission(
      file: file, bytes: bytes, digest: SHA256.hash(bytes),
      hasUnsignedTime: file.signer?.time == nil && SignatureVerifier.namesTime(document))
  }

  /// Verifies a file for one of its contracts; takes as long as ``verify(_:now:)``.
  ///
  /// - Returns: the result for the contract first, then those for the file's other origins.
  func validate(
    _ bytes: [UInt8], for contract: EthereumAddress, on chain: ChainID, now: Timestamp
  ) -> JSONObject {
    var lenient = rules
    if lenient.trust == .require { lenient.trust = .warn }
    let file: TokenScriptFile
    do throws(FileRefusal) { file = try check(bytes, by: lenient, now: now).file } catch {
      return ValidationReport(failure: error.words).json
    }
    guard let signer = file.signer, file.originChains[contract]?.contains(chain) == true else {
      let fault = "the file does not name \(contract) on chain \(chain) as its origin"
      return ValidationReport(signer: file.signer, failure: fault).json
    }
    let origins = [contract] + file.origins.filter { $0 != contract }
    let results = origins.map { origin in
      let name = file.contracts.first { $0.isOrigin && $0.address == origin }?.name ?? ""
      let (status, text) = evaluate(signer, of: file, for: origin)
      return ValidationReport.OriginResult(name: name, status: status, text: text)
    }
    return ValidationReport(signer: signer, origins: results).json
  }

  /// Evaluates the signer of a file whose signature holds.
  private func evaluate(
    _ signer: TokenScriptFile.Signer, of file: TokenScriptFile, for contract: EthereumAddress
  ) -> (status: ValidationReport.Status, text: String) {
    switch rules.issuerProof(of: file, for: contract, on: file.originChains[contract] ?? []) {
    // Wallets look for these words, and show the signer as the owner then.
    case .signer: return (.pass, "the signer matches the contract deployer")
    case .content: return (.pass, "set by the contract owner: the IPFS CID matches the scriptURI")
    case nil: break
    }
    let name = signer.name
    switch file.trust {
    case .passed: return (.pass, "signed by \(name), whose certificate is trusted")
    case .failed(let refusal) where rules.trust == .require:
      return (.warn, "signed by \(name); \(refusal.words)")
    case .failed, .unchecked:
      return (.pass, "signed by \(name), whose certificate was not required")
    }
  }

  /// Reads and verifies a file.
  ///
  /// - Throws: ``FileRefusal`` if the rules refuse the file.
  private func check(
    _ bytes: [UInt8], by rules: RepositoryRules, now: Timestamp
  ) throws(FileRefusal) -> (file: TokenScriptFile, signature: VerifiedSignature) {
    let document = try TokenScriptReader.parse(bytes)
    var (file, signature) = try reader.read(document, of: bytes, now: now)
    var signerRules = rules
    signerRules.schema = .off
    if let refusal = signerRules.evaluate(file).refusal { throw refusal }
    guard let signature else { throw FileRefusal(reason: "its signer is unknown") }
    if let schemas, rules.schema == .require {
      file.validity = schemas.finding(for: document, of: bytes, file.schema)
      if let refusal = rules.evaluate(file).refusal { throw refusal }
    }
    return (file, signature)
  }
}
