internal import Configuration

/// Where a caller comes from, as failed logins are counted: an IPv4 address, or the /64 network of
/// an IPv6 address, of which a single customer has all.
struct ClientAddress: Hashable, Sendable {
  private let prefix: [UInt8]

  /// An address.
  ///
  /// - Parameter peer: as text; anything else (a Unix socket has none) is one address.
  init(peer: String) {
    guard let address = IPAddress(peer) else {
      prefix = []
      return
    }
    prefix = address.isVersion4 ? address.bytes : Array(address.bytes.prefix(8))
  }
}
