internal import Ethereum
internal import FoundationEssentials
internal import HTTPProtocol
internal import Routing

/// A file and its contract, as wallets send them by JSON; the URL that they name is never fetched.
struct ValidationRequest: Sendable {
  /// The way in which a file is named.
  enum Source: Sendable {
    case bytes([UInt8])
    /// The URL of a file of the repository.
    case url(String)
  }

  /// The contract.
  let contract: EthereumAddress
  /// The contract's chain.
  let chain: ChainID
  /// The whole file, or its URL.
  let source: Source

  private struct Body: Decodable {
    let sourceType: String
    let sourceId: String
    let sourceUrl: String?
    let base64Xml: String?
  }

  /// Reads a request's body.
  ///
  /// - Throws: ``HTTPError`` with status 400.
  init(_ bytes: [UInt8]) throws(HTTPError) {
    guard let body = try? JSONDecoder().decode(Body.self, from: Data(bytes)) else {
      throw HTTPError(.badRequest, "expected an object with sourceType, sourceId and base64Xml")
    }
    guard body.sourceType == "scriptUri" else {
      throw HTTPError(.badRequest, "sourceType: expected scriptUri")
    }
    let parts = body.sourceId.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let chain = ChainID(parts[0]),
      let contract = EthereumAddress(utf8: parts[1].utf8)
    else { throw HTTPError(.badRequest, "sourceId: expected the chain and the contract, 1-0x…") }
    (self.contract, self.chain) = (contract, chain)
    guard let base64 = body.base64Xml else {
      source = .url(body.sourceUrl ?? "")
      return
    }
    // Wallets break the text into lines.
    let signs = base64.utf8.filter { $0 != 0x20 && !(0x09...0x0d).contains($0) }
    guard let file = Data(base64Encoded: Data(signs)), !file.isEmpty else {
      throw HTTPError(.badRequest, "base64Xml: expected a file in Base64")
    }
    source = .bytes([UInt8](file))
  }
}
