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

/// Why something is not served.
struct Refusal: Error, Equatable, Sendable {
  /// The reason without anything of the file's content: for everybody.
  let reason: String
  /// What exactly is wrong and where: for the operator; may be empty.
  let detail: String
  /// Whether the bytes are no well-formed XML, as those of a half-written file are.
  var isMalformed = false
  /// Whether the fault may be the machine's, so that it says nothing of the bytes.
  var isTransient = false

  /// The reason with its detail.
  var words: String { detail.isEmpty ? reason : "\(reason): \(detail)" }
}
