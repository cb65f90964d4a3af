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
    /// The URL to request.
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

  /// A reason for which a wallet doesn't follow a URI.
  struct Refusal: Error, Equatable {
    /// The reason in words.
    let reason: String
  }

  /// Returns the location that a URI names.
  ///
  /// - Throws: ``Refusal`` for one that a wallet doesn't follow.
  func location(_ uri: String) throws(Refusal) -> Location {
    guard uri.utf8.allSatisfy({ (0x21..<0x7f).contains($0) }) else {
      throw Refusal(reason: "not followed, since it is not visible ASCII")
    }
    // A scheme has no case.
    let scheme = uri.prefix { $0 != ":" }.lowercased()
    let rest = uri.dropFirst(scheme.count)
    if scheme == "https", rest.hasPrefix("://") {
      return Location(uri: uri, url: scheme + rest, isForeign: true)
    }
    guard scheme == "ipfs", rest.hasPrefix("://") else {
      throw Refusal(reason: "not followed, since only https: and ipfs: are")
    }
    guard let gateway else { throw Refusal(reason: "not followed without a gateway for ipfs:") }
    // Nothing that could lead out of the gateway's folder.
    let path = uri.dropFirst("ipfs://".count).prefix { $0 != "?" && $0 != "#" }
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    let isPlain = segments.allSatisfy { segment in
      !segment.isEmpty && segment.contains { $0 != "." }
        && segment.allSatisfy { $0.isLetter || $0.isNumber || "-_.".contains($0) }
    }
    guard isPlain else { throw Refusal(reason: "not followed, since its path is not plain") }
    let isMarked = segments.count > 1 && segments[0] == "ipfs"
    return Location(
      uri: uri, url: "\(gateway)/\(isMarked ? "" : "ipfs/")\(path)", isForeign: false)
  }
}

extension ContractScripts.Location {
  /// Returns the proof that bytes are the file that the contract names here.
  ///
  /// - Throws: ``TokenScriptRejection`` if the URI has the digest of other bytes.
  func proof(of bytes: [UInt8]) throws(TokenScriptRejection) -> TokenScriptReport.Proof {
    guard let identifier = ContentIdentifiers.named(by: uri) else { return .signature }
    guard ContentIdentifiers.all(of: bytes).contains(identifier) else {
      throw TokenScriptRejection(code: .content, message: "the bytes aren't what the CID names")
    }
    return .digest
  }
}
