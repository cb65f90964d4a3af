internal import Ethereum
internal import HTTPProtocol
internal import Routing

/// The part of a request that selects among the files for one contract and version.
struct FileQuery: Hashable, Sendable {
  /// The signer's common name or key identifier in lower case, or nil for any signer.
  let signer: String?
  /// The chain, or nil if the request names none.
  let chain: ChainID?

  /// Makes a query.
  init(signer: String? = nil, chain: ChainID? = nil) {
    self.signer = signer?.lowercased()
    self.chain = chain
  }

  /// True if any file is as good as another.
  var isEmpty: Bool { signer == nil && chain == nil }

  /// Returns whether a file matches the query.
  func selects(_ candidate: Candidate) -> Bool {
    if let signer, !candidate.isSigned(by: signer) { return false }
    guard let chain else { return true }
    return candidate.chains.contains(chain)
  }
}

extension FileQuery {
  /// Reads `?signer=` and `?chain=`; an empty signer counts as absent.
  ///
  /// - Parameters:
  ///   - segment: the chain in the path, or no bytes if the path names none.
  /// - Throws: ``HTTPError`` with status 400 for malformed percent-encoding, a chain that is none, or two chains.
  init(_ head: borrowing RequestHead, chain segment: ArraySlice<UInt8>) throws(HTTPError) {
    var chain: ChainID?
    if !segment.isEmpty { chain = try Self.chain(segment) }
    guard let query = head.query, !query.isEmpty else {
      self.init(chain: chain)
      return
    }
    guard let form = URLEncodedForm(query) else {
      throw HTTPError(.badRequest, "malformed percent-encoding in the query")
    }
    for pair in form.pairs where pair.name == "chain" {
      let named = try Self.chain(pair.value.utf8)
      guard named == chain ?? named else {
        throw HTTPError(.badRequest, "the request names different chains")
      }
      chain = named
    }
    let signer = form["signer"]
    self.init(signer: signer?.isEmpty == true ? nil : signer, chain: chain)
  }

  /// Reads a contract's address.
  ///
  /// - Throws: ``HTTPError`` with status 400.
  static func contract(_ text: ArraySlice<UInt8>) throws(HTTPError) -> EthereumAddress {
    guard let contract = EthereumAddress(utf8: text) else {
      throw HTTPError(.badRequest, "an address is 0x and 40 hexadecimal digits")
    }
    return contract
  }

  /// Reads a chain's number.
  ///
  /// - Throws: ``HTTPError`` with status 400.
  static func chain(_ text: some Collection<UInt8>) throws(HTTPError) -> ChainID {
    guard let chain = ChainID(utf8: text) else {
      throw HTTPError(.badRequest, "a chain is a decimal number from 1 to 9223372036854775807")
    }
    return chain
  }
}

extension OriginContract {
  /// Reads the contract and the chain from a URL's path.
  ///
  /// - Throws: ``HTTPError`` with status 400.
  init(_ parameters: RouteParameters) throws(HTTPError) {
    let contract = try FileQuery.contract(parameters["address"])
    self.init(contract, on: try FileQuery.chain(parameters["chain"]))
  }
}
