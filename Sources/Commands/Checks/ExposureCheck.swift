internal import Configuration
internal import Formats
internal import ServiceKit

/// Checks whether the configuration says what stands in front of the server, and whether anything can be served, for
/// `awd check`.
enum ExposureCheck {
  /// Checks the listeners, the proxies and the URL against each other.
  ///
  /// - Returns: one finding for each thing.
  static func findings(_ server: ServerConfiguration) -> [ContentFinding] {
    [
      services(server), bodies(server.limits), proxies(server), publicURL(server),
      operatorPages(server),
    ].compactMap(\.self)
  }

  private static func services(_ server: ServerConfiguration) -> ContentFinding? {
    guard server.services.isEmpty else { return nil }
    return .doubtful("services is empty: no service is switched on, and only probes are answered")
  }

  private static func bodies(_ limits: ServerConfiguration.Limits) -> ContentFinding? {
    guard limits.body > limits.memory else { return nil }
    return .doubtful(
      "limits.body is more than limits.memory, which all bodies share: so large a body never has "
        + "room, and gets 503; raise limits.memory or lower limits.body")
  }

  /// Doubts a URL that others know at addresses that only this machine reaches: a proxy must be there, and all its
  /// clients would count as one.
  private static func proxies(_ server: ServerConfiguration) -> ContentFinding? {
    if let all = server.trustedProxies.first(where: { $0.prefixLength == 0 }) {
      return .doubtful(
        "trusted_proxies: \(all) holds every address, so that whoever sends X-Forwarded-For "
          + "chooses the address that limits count; name the proxy's own address")
    }
    if !server.trustedProxies.isEmpty {
      let list = server.trustedProxies.map(\.description).joined(separator: ", ")
      return .good("trusted_proxies: limits go by the addresses that \(list) reports")
    }
    guard let url = server.publicURL, !url.isLocal, server.listen.allSatisfy(\.isLocal) else {
      return nil
    }
    return .doubtful(
      "trusted_proxies is empty, but \(url) is not on an address of `listen`: all clients of the "
        + "proxy in front count as one, and one user's wrong passwords lock out all; name the "
        + #"proxy, such as trusted_proxies = ["127.0.0.1", "::1"]"#)
  }

  /// The sentence about a server without a URL of its own.
  static let missingURL =
    "public_url is missing: set it before other machines reach the server; without it script URIs are told only at the "
    + "names in `hosts`, no device is redirected when the server stops, and Apple takes no pushes to "
    + "browsers unless [push.web] contact is set"

  private static func publicURL(_ server: ServerConfiguration) -> ContentFinding? {
    if let url = server.publicURL { return .good("public_url: \(url)") }
    guard server.isExposed || !server.trustedProxies.isEmpty else { return nil }
    return server.isExposed ? .doubtful(missingURL) : .good(missingURL)
  }

  /// Doubts pages for the operator at an address that others reach.
  private static func operatorPages(_ server: ServerConfiguration) -> ContentFinding? {
    guard let address = server.adminListen else {
      return server.isExposed
        ? .doubtful(
          "admin_listen is missing: metrics and the status page answer beside everything else, "
            + "to this machine only, and not through a proxy")
        : nil
    }
    return address.isLocal
      ? .good("admin_listen: \(address), for this machine only")
      : .doubtful("admin_listen: everyone who reaches \(address) sees the metrics and the status")
  }
}
