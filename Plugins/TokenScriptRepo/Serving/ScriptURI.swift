internal import Cryptography
internal import TokenScriptReading

/// The places of a contract's TokenScripts, named as ERC-5169 names them.
struct ScriptURI: Encodable {
  /// The places by their origin.
  struct Places: Encodable {
    /// The contract's own URIs; always empty, as the server asks no chain.
    let erc5169: [String]
    /// The URLs at this repository.
    let offchain: [String]
  }

  let scriptURI: Places

  /// Finds the places for a contract on a network.
  ///
  /// - Parameters:
  ///   - editions: the contract's versions, the preferred one first.
  ///   - network: the chain.
  ///   - base: the server's URL without a slash at its end.
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
