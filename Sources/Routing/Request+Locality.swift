internal import Formats
package import HTTPProtocol

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
