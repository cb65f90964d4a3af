/// The address of a socket that listens.
package enum Endpoint: Sendable, Hashable {
  /// A TCP port; 0 lets the system choose.
  case tcp(IPAddress, port: UInt16)
  /// The path of a Unix-domain socket.
  case unix(path: String)
}

extension Endpoint: CustomStringConvertible {
  /// The address as configuration files write it.
  package var description: String {
    switch self {
    case .tcp(let address, let port) where address.isVersion4: "\(address):\(port)"
    case .tcp(let address, let port): "[\(address)]:\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }
}
