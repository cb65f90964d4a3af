internal import Cryptography
internal import Ethereum
internal import Platform

/// The meaning of a file's bytes, with the findings of the checks.
///
/// It depends neither on the file's path, nor on the clock, nor on the rules of the configuration, so it can be stored
/// under the SHA-256 of the bytes.
struct TokenScriptFile: Equatable, Sendable {
  /// An address in the file, once for each contract name and chain.
  struct Contract: Hashable, Sendable {
    /// The address.
    let address: EthereumAddress
    /// The contract's name in the file.
    let name: String
    /// The chain that the file names it on; without a word in the file the main network.
    let chain: ChainID
    /// True if the file's tokens come from this contract; the file merely uses the others.
    let isOrigin: Bool
  }

  /// The signer of the file's last signature.
  struct Signer: Hashable, Sendable {
    /// The common name of the leaf certificate, or nil for a bare key.
    let commonName: String?
    /// The key identifier: the Ethereum address, or else the SHA-256 of the SubjectPublicKeyInfo.
    let key: String
    /// The identifier of the key that has lent its standing to this one, by its certificate at the signing time, or nil.
    var authority: String?
    /// The kind of the key, as ``XMLSecurity`` names it.
    let kind: String
    /// The XAdES signing time, which may lie in the future.
    let time: Timestamp?
    /// The end of the leaf certificate's validity, or nil for a bare key.
    var expires: Timestamp?
    /// True if the leaf certificate names itself as its issuer.
    var isSelfSigned = false

    /// The common name, or else the key.
    var name: String { commonName ?? key }

    /// The addresses that stand behind the signature: of the key and of its authority.
    var addresses: [EthereumAddress] {
      [key, authority].compactMap { $0.flatMap { EthereumAddress($0) } }
    }
  }

  /// The outcome of one of the three checks.
  enum Finding: Equatable, Sendable {
    /// The check is switched off, or an earlier one left nothing to check.
    case unchecked
    /// The check passed.
    case passed
    /// The check failed.
    case failed(FileRefusal)

    /// Returns the outcome in words, of a failure those that a refusal has for it.
    func summary(_ words: (FileRefusal) -> String) -> String {
      switch self {
      case .passed: "holds"
      case .unchecked: "not checked"
      case .failed(let refusal): words(refusal)
      }
    }
  }

  /// The version in the root element's namespace.
  let schema: SchemaVersion
  /// The root's local name; only `token` has contracts to serve.
  let root: String
  /// The addresses, in document order.
  var contracts: [Contract] = []
  /// The name of the root element.
  var title: String?
  /// The texts of the label in all languages, the best one first.
  var labels: [String] = []
  /// The URL of the icon.
  var icon: String?
  /// The names by which IPFS knows the bytes.
  var cids: [String] = []
  /// The signer, or nil unless the signature check passed.
  var signer: Signer?
  /// The outcome of the signature check.
  var signature = Finding.unchecked
  /// The outcome of the check against the version's schema.
  var validity = Finding.unchecked
  /// The outcome of the check of the signer's certificate chain.
  var trust = Finding.unchecked
  /// Oddities that are no reason to refuse the file.
  var warnings: [String] = []

  /// The addresses that the file is served for, each once.
  var origins: [EthereumAddress] {
    var seen: Set<EthereumAddress> = []
    return contracts.filter { $0.isOrigin && seen.insert($0.address).inserted }.map(\.address)
  }

  /// The chains of each address that the file is served for, in the order of their numbers.
  var originChains: [EthereumAddress: [ChainID]] {
    var chains: [EthereumAddress: Set<ChainID>] = [:]
    for contract in contracts where contract.isOrigin {
      chains[contract.address, default: []].insert(contract.chain)
    }
    return chains.mapValues { $0.sorted() }
  }
}

/// A contract on a chain, as a file names its origin.
struct OriginContract: Hashable, Sendable {
  /// The contract.
  let contract: EthereumAddress
  /// The contract's chain.
  let chain: ChainID

  /// Makes an origin.
  init(_ contract: EthereumAddress, on chain: ChainID) {
    self.contract = contract
    self.chain = chain
  }
}

extension OriginContract {
  /// True for an address that wallets write for the chain's own currency, and that no key can stand for.
  var isNativeCurrency: Bool {
    contract == EthereumAddress()
      || contract == EthereumAddress([UInt8](repeating: 0xee, count: 20))
  }

  /// Returns the URL of a page about the contract elsewhere, or nil if none is known.
  ///
  /// - Parameter configured: the pages that the configuration names, with `{address}` in them.
  func explorer(in configured: [ChainID: String]) -> String? {
    (configured[chain] ?? KnownChain.of(chain)?.explorer)?
      .replacing("{address}", with: contract.checksummed)
  }
}

/// The reason why a file is not served.
struct FileRefusal: Error, Equatable, Sendable {
  /// The reason in words that anybody may see: nothing of the file's content is in it.
  let reason: String
  /// The exact fault and its place, for the operator; may be empty.
  let detail: String
  /// True if the bytes are not well-formed XML, as in a half-written file.
  let isMalformed: Bool
  /// True if the machine may be at fault, so that the refusal says nothing about the bytes.
  let isTransient: Bool

  /// Makes a refusal. The first 1,000 bytes of its detail are kept, as it may quote the file.
  init(reason: String, detail: String = "", isMalformed: Bool = false, isTransient: Bool = false) {
    self.reason = reason
    self.detail = detail.bounded(to: 1000)
    self.isMalformed = isMalformed
    self.isTransient = isTransient
  }

  /// The reason with its detail.
  var words: String { detail.isEmpty ? reason : "\(reason): \(detail)" }
}
