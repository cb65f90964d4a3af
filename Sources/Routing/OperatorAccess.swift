package import Configuration
package import Formats
package import HTTPProtocol

/// The rule that decides whether a request may see the operator's pages: `/metrics`, `/status` and `/debug`.
///
/// A page in a browser can make a name of its own stand for this machine's address (DNS rebinding). Such a request comes
/// from this machine, but its `Host` is that name. So `Host` has to be an address, `localhost` or a name of the
/// configuration, at any listener.
package enum OperatorAccess: Sendable {
  /// Allows every client of a listener that serves the operator alone.
  ///
  /// The names are those that it is reached at, besides its addresses and `localhost`.
  case ownListener(names: [HostName] = [])

  /// Allows peers on this machine, at a listener that others reach too, unless anything speaks of a proxy.
  ///
  /// A proxy on this machine connects from this machine, and not each of them says that it is one. So a peer that is a
  /// trusted proxy is refused, and so are requests with a field that proxies add, in HTTP/1.0, which proxies speak and
  /// operators don't, or for another host or port than the listener's. A Unix socket is refused: it is there for a proxy.
  /// Its ports are nil if they aren't known.
  case sharedListener(behind: TrustedProxies, ports: Set<UInt16>?)

  /// Refuses a request that may not see the pages.
  ///
  /// - Parameter request: the request, with the origin that proxies reported.
  /// - Throws: ``HTTPError``, 403.
  package func check(_ request: Request) throws(HTTPError) {
    let host = Host(request.head)
    switch self {
    case .ownListener(let names):
      guard
        host.isAddress || host.isLocalhost || names.contains(where: { $0.description == host.name })
      else {
        throw HTTPError(
          .forbidden, "not answered under this name; allow it with `admin_hosts` in [server]")
      }
    case .sharedListener(let proxies, let ports):
      guard request.isLocal, !proxies.contains(IPAddress(request.origin.peer)),
        ports.map({ $0.contains(host.port(isSecure: request.origin.isSecure)) }) ?? true
      else {
        throw HTTPError(
          .forbidden,
          "only answered on the machine itself and without a proxy; give these pages an address "
            + "with `admin_listen` in [server]")
      }
    }
  }
}

/// The host of a request, as the client wrote it.
struct Host {
  /// The name or address in lower case, an IPv6 address in brackets.
  let name: String
  private let written: String?

  /// Reads the host of a request.
  init(_ head: RequestHead) {
    name = head.host
    let rest = head.authority.dropFirst(name.count)
    written = rest.hasPrefix(":") ? String(rest.dropFirst()) : nil
  }

  /// The address, if the host is one.
  private var address: IPAddress? {
    IPAddress(
      name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : name)
  }

  /// True if the host is an address, which nobody can make stand for another.
  var isAddress: Bool { address != nil }

  /// True if the host is `localhost`, which browsers never look up (RFC 6761 section 6.3).
  var isLocalhost: Bool { name == "localhost" }

  /// True if the host is this machine under an address or a name that only this machine has.
  var isLoopback: Bool { isLocalhost || address?.isLoopback == true }

  /// Returns the port, which is that of the scheme if none is written.
  func port(isSecure: Bool) -> UInt16 {
    written.map { UInt16($0) ?? 0 } ?? WebURL.usualPort(isSecure: isSecure)
  }
}

/// The proxies whose header fields about the origin of a request are believed.
package struct TrustedProxies: Sendable {
  private let ranges: [AddressRange]

  /// Trusts the proxies at some addresses.
  package init(_ ranges: [AddressRange]) { self.ranges = ranges }

  /// Finds the origin of a request that the proxies in front of this server report.
  ///
  /// `X-Forwarded-For` is read from its end, where the nearest proxy wrote. The first address that is no trusted proxy is
  /// the client's: anyone may have written the part before it. `X-Forwarded-Proto` says whether the client spoke TLS. Of
  /// several values the last counts.
  ///
  /// - Parameter origin: the origin by the connection that it came on.
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

extension Request {
  /// True if the request was sent on this machine, to an address of this machine alone, and nothing in it speaks of a
  /// proxy: no field that proxies add, and not HTTP/1.0, which nginx speaks to the servers behind it.
  ///
  /// A proxy that hides itself passes for a client. So this is not enough where secrets are at stake.
  package var isLocal: Bool {
    guard IPAddress(origin.peer)?.isLoopback == true, head.version == .http11 else { return false }
    return Host(head).isLoopback && !head.isForwarded
  }
}

extension RequestHead {
  /// True if there is a field that proxies add: `Forwarded` (RFC 7239), `Via` (RFC 9110 section 7.6.3), or one of those
  /// that came before them.
  fileprivate var isForwarded: Bool {
    var isForwarded = false
    forEachField { name, _ in
      let name = String(decoding: name, as: UTF8.self).lowercased()
      if name.hasPrefix("x-forwarded") || Self.fieldsOfProxies.contains(name) { isForwarded = true }
    }
    return isForwarded
  }

  private static let fieldsOfProxies: Set<String> = [
    "forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "x-original-host",
    "true-client-ip", "cf-connecting-ip",
  ]
}
