internal import Cryptography

/// What the configuration makes of what the checks find.
struct RepositoryRules: Sendable {
  /// What becomes of a file that fails a check.
  enum Check: String, Sendable, CaseIterable {
    /// It is refused.
    case require
    /// It is served, with a warning.
    case warn
    /// The check is not made.
    case off
  }

  /// What becomes of several signers' files for one contract and namespace.
  enum Choice: String, Sendable, CaseIterable {
    /// The wallet is given the list.
    case ask
    /// The file signed by the contract's issuer is served; without one, the wallet is asked.
    case issuer
    /// The latest file is served.
    case newest
  }

  /// What a file's `Last-Modified` tells.
  enum Modified: String, Sendable, CaseIterable {
    /// When it was signed, or else first seen.
    case signed
    /// When it became the answer at the URL, if that was later.
    case published
  }

  /// The signature check.
  var signature = Check.require
  /// The schema check.
  var schema = Check.warn
  /// The check of the signer's chain.
  var trust = Check.warn
  /// What becomes of several signers' files.
  var choice = Choice.ask
  /// What `Last-Modified` tells.
  var modified = Modified.signed
  /// The key that deployed a contract: who signs with it is its issuer.
  var deployers: [EthereumAddress: EthereumAddress] = [:]

  /// Decides whether a file is served.
  ///
  /// - Parameter file: what the file means and what the checks found.
  /// - Returns: why it is not served, or nil; and the findings that only make warnings.
  func judge(_ file: TokenScriptFile) -> (refusal: Refusal?, warnings: [String]) {
    var refusal: Refusal?
    var warnings: [String] = []
    var trustFinding = file.trust
    // The deployer's key needs no certificate.
    if !file.origins.isEmpty, file.origins.allSatisfy({ isIssuer(file.signer, of: $0) }) {
      trustFinding = .passed
    }
    let checks = [
      (signature, file.signature), (schema, file.validity), (trust, trustFinding),
    ]
    for (check, finding) in checks {
      switch (check, finding) {
      case (.off, _), (_, .passed): continue
      case (.require, .failed(let failure)): refusal = refusal ?? failure
      case (.require, .unchecked):
        // Nothing but a signature that failed leaves a required check undone.
        refusal = refusal ?? Refusal(reason: "its signer is unknown", detail: "")
      case (.warn, .failed(let failure)): warnings.append(failure.words)
      case (.warn, .unchecked): continue
      }
    }
    return (refusal, warnings)
  }

  /// Whether a signer is the one who deployed a contract.
  ///
  /// - Parameters:
  ///   - signer: whose signature holds; nil: nobody's.
  ///   - contract: the contract's address.
  func isIssuer(_ signer: TokenScriptFile.Signer?, of contract: EthereumAddress) -> Bool {
    guard let deployer = deployers[contract], let signer else { return false }
    return EthereumAddress(signer.key) == deployer
  }
}
