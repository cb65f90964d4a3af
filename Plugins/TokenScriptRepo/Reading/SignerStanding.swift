internal import Ethereum

/// The proof of a signer, from the best to none; the raw values are for people and programs.
enum SignerStanding: String, Sendable {
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
  func standing(of file: TokenScriptFile, for contract: EthereumAddress?) -> SignerStanding? {
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
