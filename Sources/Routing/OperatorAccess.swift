internal import Formats
package import Configuration
package import HTTPProtocol

/// The rule that tells whether a request may see the operator's pages: `/metrics`, `/status` and `/debug`.
///
/// A page in a browser can make a name of its own stand for this machine's address (DNS rebinding). Such a request comes
/// from this machine, but its `Host` is that name. So `Host` has to be an address, `localhost` or a name of the
/// configuration, at any listener.
package enum OperatorAccess: Sendable {
  /// Allows whoever reaches a listener that is there for the operator alone.
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

  /// Takes the host of a request.
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
  func port(isSecure: Bool) -> UInt16 { written.map { UInt16($0) ?? 0 } ?? (isSecure ? 443 : 80) }
}
