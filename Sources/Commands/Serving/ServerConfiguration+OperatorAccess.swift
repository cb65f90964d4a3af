internal import Configuration
internal import Formats
internal import Routing

extension ServerConfiguration {
  /// The rule that decides who may see the operator's pages.
  var operatorAccess: OperatorAccess {
    guard adminListen == nil else { return .ownListener(names: adminHosts) }
    let ports = listen.compactMap(\.port)
    // The system chooses in place of 0.
    return .sharedListener(
      behind: TrustedProxies(trustedProxies), ports: ports.contains(0) ? nil : Set(ports))
  }
}

extension ListenAddress {
  /// The port, or nil for a Unix socket.
  fileprivate var port: UInt16? {
    guard case .tcp(_, let port) = endpoint else { return nil }
    return port
  }
}
