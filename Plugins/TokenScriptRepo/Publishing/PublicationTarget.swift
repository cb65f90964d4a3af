internal import Ethereum
internal import HTTPProtocol
internal import Routing

/// The target of a request: the contract, chain and version that its URL names.
struct PublicationTarget: Hashable, Sendable {
  /// The version.
  let schema: SchemaVersion
  /// The contract.
  let contract: EthereumAddress
  /// The chain, or nil if the URL names none.
  let chain: ChainID?

  /// Returns the chain that the place is on: the one in the URL, or the only one that a file names for the contract.
  func chain(of file: TokenScriptFile) -> ChainID? {
    chain ?? file.originChains[contract].flatMap { $0.count == 1 ? $0[0] : nil }
  }
}

extension PublicationTarget {
  /// Reads the place from a request.
  ///
  /// - Throws: ``HTTPError`` with status 400 or 404.
  init(_ request: Request, _ parameters: RouteParameters) throws(HTTPError) {
    guard let schema = SchemaVersion(year: parameters["year"], month: parameters["month"]) else {
      throw HTTPError(.notFound)
    }
    let contract = try FileQuery.contract(parameters["address"])
    let query = try FileQuery(request.head, chain: parameters["chain"])
    self.init(schema: schema, contract: contract, chain: query.chain)
  }
}
