internal import Addresses

/// An address that failed logins are counted for: an IPv4 address, or the /64 network of an IPv6 address, all of which
/// a single customer has.
struct ClientAddress: Hashable, Sendable {
  private let prefix: [UInt8]

  /// Takes the address of a peer.
  ///
  /// - Parameter peer: the address as text; anything else (a Unix socket has none) counts as one address.
  init(peer: String) {
    guard let address = IPAddress(peer) else {
      prefix = []
      return
    }
    prefix = address.isVersion4 ? address.bytes : Array(address.bytes.prefix(8))
  }
}
