internal import Ethereum

/// The configuration's rules: which findings refuse a file, and which of several files is served.
struct RepositoryRules: Sendable {
  /// The consequence of a failed check.
  enum Check: String, Sendable, CaseIterable {
    /// The file is refused.
    case require
    /// The file is served with a warning.
    case warn
    /// The check is not made.
    case off
  }

  /// The choice among several signers' files for one contract and namespace.
  enum Choice: String, Sendable, CaseIterable {
    /// The wallet gets the list.
    case ask
    /// The file of the contract's issuer is served; without one, the wallet gets the list.
    case issuer
    /// The latest file is served.
    case newest
  }

  /// The meaning of a file's `Last-Modified`.
  enum Modified: String, Sendable, CaseIterable {
    /// The signing time, or else the time at which the bytes were first seen.
    case signed
    /// The time at which the URL began to give the file, if that was later.
    case published
  }

  /// The rule for the signature check.
  var signature = Check.require
  /// The rule for the schema check.
  var schema = Check.warn
  /// The rule for the check of the signer's chain.
  var trust = Check.warn
  /// The rule for several signers' files.
  var choice = Choice.ask
  /// The rule for `Last-Modified`.
  var modified = Modified.signed
  /// The address of the key that deployed each contract; its owner is the contract's issuer.
  var deployers: [EthereumAddress: EthereumAddress] = [:]
  /// The chains' answers on contracts, which name further issuers.
  var answers: [OriginContract: ChainAnswer] = [:]

  /// Decides whether a file is served.
  ///
  /// - Returns: the reason why it is not served, or nil; and the findings that only make warnings. That a signer is
  ///   not trusted is none of these: it is the ``TrustLevel`` of most.
  func evaluate(_ file: TokenScriptFile) -> (refusal: FileRefusal?, warnings: [String]) {
    var refusal: FileRefusal?
    var warnings: [String] = []
    // The issuer's key needs no certificate.
    let trustFinding = isIssuers(file) ? .passed : file.trust
    let checks = [
      (signature, file.signature), (schema, file.validity),
      (trust == .warn ? .off : trust, trustFinding),
    ]
    for (check, finding) in checks {
      switch (check, finding) {
      case (.off, _), (_, .passed), (.warn, .unchecked): continue
      case (.require, .failed(let failure)): refusal = refusal ?? failure
      case (.require, .unchecked):
        // Nothing but a signature that failed leaves a required check undone.
        refusal = refusal ?? FileRefusal(reason: "its signer is unknown")
      case (.warn, .failed(let failure)): warnings.append(failure.words)
      }
    }
    return (refusal, warnings)
  }

  /// Returns whether a file is the own one of all contracts that its tokens come from, of which there is one at least.
  func isIssuers(_ file: TokenScriptFile) -> Bool {
    let chains = file.originChains
    return !chains.isEmpty
      && chains.allSatisfy { issuerProof(of: file, for: $0.key, on: $0.value) != nil }
  }

  /// Returns the proof that a file is a contract's own: its signer has deployed the contract, or all of some chains say so.
  func issuerProof(
    of file: TokenScriptFile, for contract: EthereumAddress, on chains: [ChainID]
  ) -> IssuerProof? {
    if let deployer = deployers[contract], file.signer?.addresses.contains(deployer) == true {
      return .signer
    }
    let proofs = chains.map { answers[OriginContract(contract, on: $0)]?.proof(of: file) }
    guard !chains.isEmpty, !proofs.contains(nil) else { return nil }
    return proofs.contains(.content) ? .content : .signer
  }
}

/// The proof of a signer, from the best to none; the raw values are for people and programs.
enum TrustLevel: String, Sendable {
  /// The contract's deployer, owner or administrator stands behind the signature, or the contract names the bytes.
  case issuer
  /// A certificate chain leads to a root.
  case trusted
  /// The signer has issued the certificate.
  case selfSigned = "self-signed"
  /// No certificate chain is known that leads from the issuer to a root.
  case unproven = "certificate without a root"
  /// There is no certificate.
  case bareKey = "bare key"
}

extension RepositoryRules {
  /// Returns the standing of a file's signer for one of its contracts, or nil without a signature that holds, unless the
  /// contract names the bytes.
  func standing(of file: TokenScriptFile, for contract: EthereumAddress?) -> TrustLevel? {
    if let contract,
      issuerProof(of: file, for: contract, on: file.originChains[contract] ?? []) != nil
    {
      return .issuer
    }
    guard let signer = file.signer else { return nil }
    if file.trust == .passed { return .trusted }
    guard signer.commonName != nil || signer.expires != nil else { return .bareKey }
    return signer.isSelfSigned ? .selfSigned : .unproven
  }
}
