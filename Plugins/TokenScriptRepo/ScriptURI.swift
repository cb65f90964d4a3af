internal import Cryptography
internal import HTTPProtocol
internal import ServiceKit

/// Where the scripts of a contract are found, as ERC-5169's `scriptURI` would say it.
struct ScriptURI: Encodable {
  /// The two kinds of places.
  struct Places: Encodable {
    /// What the contract itself says; this server asks no chain.
    let erc5169: [String]
    /// What this repository has.
    let offchain: [String]
  }

  let scriptURI: Places

  /// The answer for a contract on a network.
  ///
  /// - Parameters:
  ///   - editions: the contract's versions, the preferred one first.
  ///   - network: the chain.
  ///   - base: this server's URL, without a slash at its end.
  init(_ editions: [ContractIndex.Edition], network: UInt64, base: String) {
    let named = editions.filter { edition in
      edition.chosen.contains { candidate in
        candidate.meaning.contracts.contains {
          $0.address == edition.contract && $0.network == network
        }
      }
    }
    scriptURI = Places(
      erc5169: [],
      offchain: named.map { "\(base)/\($0.schema)/\($0.contract.checksummed)" })
  }
}
