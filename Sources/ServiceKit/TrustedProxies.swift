public import Addresses
public import HTTPProtocol

/// The proxies whose header fields about the origin of a request are believed.
public struct TrustedProxies: Sendable {
  private let ranges: [AddressRange]

  /// Trusts the proxies at some addresses.
  ///
  /// - Parameter ranges: the addresses. With none, no proxy is trusted.
  public init(_ ranges: [AddressRange]) { self.ranges = ranges }

  /// Replaces the origin of a request by the one that the proxies in front of this server report.
  ///
  /// `X-Forwarded-For` is read from its end, where the nearest proxy wrote. The first address that is no trusted proxy is
  /// the client's: anyone may have written the part before it. `X-Forwarded-Proto` says whether the client spoke TLS. Of
  /// several values the last counts.
  ///
  /// - Parameter request: the request as it came.
  /// - Returns: the request with the client's origin, or the same one if its peer is no trusted proxy.
  public func seenThrough(_ request: Request) -> Request {
    guard !ranges.isEmpty, isTrusted(request.origin.peer) else { return request }
    var peer = request.origin.peer
    for address in Self.members(of: request.head.value(.xForwardedFor)).reversed() {
      guard let client = IPAddress(Self.withoutPort(address)) else { break }
      peer = "\(client)"
      guard isTrusted(peer) else { break }
    }
    let scheme = Self.members(of: request.head.value(.xForwardedProto)).last?.lowercased()
    let origin = RequestOrigin(
      peer: peer, isSecure: scheme.map { $0 == "https" } ?? request.origin.isSecure,
      id: request.origin.id)
    return Request(head: request.head, body: request.body, origin: origin)
  }

  /// Returns whether a peer is one of the proxies. A peer at a Unix-domain socket counts as 127.0.0.1.
  func isTrusted(_ peer: String) -> Bool {
    guard let address = peer.isEmpty ? .loopback : IPAddress(peer) else { return false }
    return ranges.contains { $0.contains(address) }
  }

  private static func members(of list: String?) -> [Substring] {
    (list ?? "").split(separator: ",").map { member in
      member.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
    }
  }

  /// Removes the port, as some proxies write `192.0.2.1:1234` or `[2001:db8::1]:1234`.
  private static func withoutPort(_ text: Substring) -> String {
    if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
    guard let colon = text.lastIndex(of: ":"), text.firstIndex(of: ":") == colon else {
      return String(text)
    }
    return String(text[..<colon])
  }
}
