package import Formats
package import HTTPProtocol

/// The proxies whose header fields about the origin of a request are believed.
package struct TrustedProxies: Sendable {
  private let ranges: [AddressRange]

  /// Trusts the proxies at some addresses.
  ///
  /// - Parameter ranges: the addresses. With none, no proxy is trusted.
  package init(_ ranges: [AddressRange]) { self.ranges = ranges }

  /// Finds the origin of a request that the proxies in front of this server report.
  ///
  /// `X-Forwarded-For` is read from its end, where the nearest proxy wrote. The first address that is no trusted proxy is
  /// the client's: anyone may have written the part before it. `X-Forwarded-Proto` says whether the client spoke TLS. Of
  /// several values the last counts.
  ///
  /// - Parameters:
  ///   - head: the head of the request.
  ///   - origin: the origin by the connection that it came on.
  /// - Returns: the client's origin, or the same one if the peer is no trusted proxy.
  package func origin(of head: RequestHead, from origin: RequestOrigin) -> RequestOrigin {
    var peer = origin.peer
    let address = IPAddress(peer)
    guard peer.isEmpty || address != nil, contains(address) else { return origin }
    for address in Self.members(of: head.value(.xForwardedFor)).reversed() {
      guard let client = IPAddress(Self.withoutPort(address)) else { break }
      peer = "\(client)"
      guard contains(client) else { break }
    }
    let scheme = Self.members(of: head.value(.xForwardedProto)).last?.lowercased()
    return RequestOrigin(
      peer: peer, isSecure: scheme.map { $0 == "https" } ?? origin.isSecure, id: origin.id)
  }

  /// Returns whether a peer is one of the proxies.
  ///
  /// - Parameter peer: its address; nil for a Unix socket, which counts as 127.0.0.1.
  func contains(_ peer: IPAddress?) -> Bool {
    let address = peer ?? .loopback
    return ranges.contains { $0.contains(address) }
  }

  /// Splits a list, by bytes: what a client wrote before a comma can make one character of the two.
  private static func members(of list: String?) -> [Substring] {
    (list ?? "").utf8.split(separator: UInt8(ascii: ",")).map { member in
      Substring(member.drop { " \t".utf8.contains($0) }.prefix { !" \t".utf8.contains($0) })
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
