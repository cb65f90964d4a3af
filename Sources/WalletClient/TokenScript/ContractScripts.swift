internal import Ethereum

/// The way to the TokenScripts that a contract names itself (ERC-5169).
public struct ContractScripts: Sendable {
  /// The largest number of URIs that are followed.
  static let limit = 8
  /// The longest response of an endpoint, in bytes.
  private static let responseLimit = 256 << 10

  /// The URL of the chain's endpoint for JSON-RPC.
  public let endpoint: String
  /// The URL of a gateway for `ipfs:`, without a slash at its end; nil to follow no such URI.
  public let gateway: String?

  /// Makes the way.
  ///
  /// - Parameters:
  ///   - endpoint: the URL of the chain's endpoint for JSON-RPC.
  ///   - gateway: the URL of a gateway for `ipfs:`, or nil to follow no such URI.
  public init(endpoint: String, gateway: String? = nil) {
    self.endpoint = endpoint
    var gateway = gateway
    while gateway?.hasSuffix("/") == true { gateway?.removeLast() }
    self.gateway = gateway
  }

  /// The location of a file.
  struct Location: Equatable, Sendable {
    /// The contract's word.
    let uri: String
    /// The URL to ask.
    let url: String
    /// True if the contract, and so anybody, has chosen the host; the gateway's the user has.
    let isForeign: Bool
  }

  /// The request for a contract's URIs.
  static func batch(for contract: EthereumAddress) -> CallBatch {
    CallBatch([(contract, .scriptURI)])
  }

  /// Reads the response to ``batch(for:)``.
  ///
  /// - Returns: the contract's URIs, or nil if the endpoint has failed.
  static func uris(in body: [UInt8], of contract: EthereumAddress) -> [String]? {
    guard body.count <= responseLimit else { return nil }
    switch batch(for: contract).outcomes(in: body)[0] {
    case .returned(let data): return data.strings ?? []
    case .none: return []
    case .failed: return nil
    }
  }

  /// Returns the location that a URI names, or nil for one that a wallet doesn't follow.
  func location(_ uri: String) -> Location? {
    guard uri.utf8.allSatisfy({ (0x21..<0x7f).contains($0) }) else { return nil }
    if uri.hasPrefix("https://") { return Location(uri: uri, url: uri, isForeign: true) }
    guard let gateway, uri.hasPrefix("ipfs://") else { return nil }
    // Nothing that could lead out of the gateway's folder.
    let path = uri.dropFirst("ipfs://".count)
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    guard
      segments.allSatisfy({ segment in
        !segment.isEmpty && segment.contains { $0 != "." }
          && segment.allSatisfy { $0.isLetter || $0.isNumber || "-_.".contains($0) }
      })
    else { return nil }
    return Location(uri: uri, url: "\(gateway)/ipfs/\(path)", isForeign: false)
  }
}
