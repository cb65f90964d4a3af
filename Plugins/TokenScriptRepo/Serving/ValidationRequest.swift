internal import Cryptography
internal import Ethereum
internal import FoundationEssentials
internal import HTTPProtocol
internal import Routing

/// A file and its contract, as wallets send them by JSON; the URL that they name besides is never fetched.
struct ValidationRequest: Sendable {
  /// The contract.
  let contract: EthereumAddress
  /// The contract's chain.
  let chain: ChainID
  /// The whole file.
  let file: [UInt8]

  private struct Body: Decodable {
    let sourceType: String
    let sourceId: String
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
    guard let base64 = body.base64Xml else {
      throw HTTPError(.badRequest, "base64Xml is missing; the server fetches no file itself")
    }
    // Wallets break the text into lines.
    guard
      let file = Data(base64Encoded: Data(base64.utf8.filter { !Self.isBlank($0) })), !file.isEmpty
    else { throw HTTPError(.badRequest, "base64Xml: expected a file in Base64") }
    self.contract = contract
    self.chain = chain
    self.file = [UInt8](file)
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0d).contains(byte)
  }
}
