internal import Cryptography
internal import Ethereum
internal import TokenScriptReading

/// The places of a contract's TokenScripts, named as ERC-5169 names them.
struct ScriptURI: Encodable {
  /// The places by their origin.
  struct Places: Encodable {
    /// The contract's own URIs, by its chain's last word.
    let erc5169: [String]
    /// The URLs at this repository.
    let offchain: [String]
  }

  let scriptURI: Places

  /// Finds the places for a contract on a chain.
  ///
  /// - Parameters:
  ///   - editions: the contract's versions, the preferred one first.
  ///   - chain: the chain, which the URLs name if the contract has several.
  ///   - base: the server's URL without a slash at its end.
  ///   - word: the chain's word, or nil if it wasn't asked.
  init(_ editions: [Edition], on chain: ChainID, base: String, word: ChainWord? = nil) {
    let isAmbiguous = Set(editions.flatMap { $0.chains.map(\.chain) }).count > 1
    let segment = isAmbiguous ? "chain/\(chain)/" : ""
    scriptURI = Places(
      erc5169: word?.scripts ?? [],
      offchain: editions.filter { $0.isServed(on: chain) }.map {
        "\(base)/\($0.schema)/\(segment)\($0.contract.checksummed)"
      })
  }
}
