public import HTTPProtocol

extension Request {
  /// Whether the request was sent on this machine, and not through a proxy that says so.
  public var isLocal: Bool {
    guard head.value(.xForwardedFor) == nil else { return false }
    let peer = origin.peer
    // Loopback of both families, IPv4 mapped into IPv6, or the empty address of a Unix socket.
    return peer.isEmpty || peer == "::1" || peer.hasPrefix("127.") || peer.hasPrefix("::ffff:127.")
  }

  /// Refuses requests that were not sent on this machine.
  ///
  /// - Throws: ``HTTPError``, 403.
  public func requireLocal() throws(HTTPError) {
    guard isLocal else { throw HTTPError(.forbidden, "only answered on the machine itself") }
  }
}
