internal import Cryptography

/// What the bytes of one file mean, and what the checks found in them.
///
/// Nothing of it depends on where the file lies, on the clock or on what the configuration makes of
/// a finding: so it can be remembered by the bytes' SHA-256.
struct TokenScriptFile: Equatable, Sendable {
  /// An address that the file names, once for each contract name and network.
  struct Contract: Hashable, Sendable {
    /// The address.
    let address: EthereumAddress
    /// What the file calls the contract.
    let name: String
    /// The chain, if it is a number.
    let network: UInt64?
    /// Whether the tokens that the file describes come from it; other contracts are merely used.
    let isOrigin: Bool
  }

  /// Whose signature stands last in the file.
  struct Signer: Hashable, Sendable {
    /// The common name of the leaf certificate; nil for a bare key.
    let commonName: String?
    /// The key identifier: the Ethereum address, or else the SHA-256 of the SubjectPublicKeyInfo.
    let key: String
    /// The kind of the key, as ``XMLSecurity`` names it.
    let kind: String
    /// What XAdES says of when it was signed, in seconds since 1970; perhaps in the future.
    let time: Int64?
    /// Until when the leaf certificate is valid, in seconds since 1970; nil for a bare key.
    var expires: Int64?
  }

  /// How one of the three checks ended.
  enum Finding: Equatable, Sendable {
    /// It was switched off.
    case unchecked
    case passed
    /// It failed, for these reasons.
    case failed(Refusal)
  }

  /// The version that the root's namespace names.
  let schema: SchemaVersion
  /// The root's local name; only `token` has contracts to serve.
  let root: String
  /// The addresses, in the order of the document.
  var contracts: [Contract] = []
  /// The signer, where the signature check passed.
  var signer: Signer?
  /// The signature check.
  var signature = Finding.unchecked
  /// The check against the version's schema.
  var validity = Finding.unchecked
  /// The check of the signer's certificate chain.
  var trust = Finding.unchecked
  /// What is odd, but no reason to refuse the file.
  var warnings: [String] = []

  /// The addresses that the file is served for, without repetition.
  var origins: [EthereumAddress] {
    var seen: Set<EthereumAddress> = []
    return contracts.filter { $0.isOrigin && seen.insert($0.address).inserted }.map(\.address)
  }
}
