/// The part of a client's address that limits count by: an IPv4 address, or the /64 network of an IPv6 address, as one
/// subscriber usually has the whole of it.
package struct ClientNetwork: Sendable, Hashable {
  /// The 32 bits of an IPv4 address, or the first 64 bits of an IPv6 address.
  private let bits: UInt64
  private let isVersion4: Bool

  /// Makes the network of an address.
  ///
  /// - Parameter address: the address.
  package init(of address: IPAddress) {
    isVersion4 = address.isVersion4
    bits = address.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension ClientNetwork: CustomStringConvertible {
  /// The address, or the network such as `2001:db8::/64`.
  package var description: String { text(bytes: 8) }

  /// The name of those to whom lasting things are charged: the IPv4 address, or the /48 network of an IPv6 address, as many
  /// get one for nothing.
  package var site: String { text(bytes: 6) }

  /// Returns the IPv4 address, or the first bytes of an IPv6 address as a network.
  private func text(bytes kept: Int) -> String {
    let count = isVersion4 ? 4 : kept
    let total = isVersion4 ? 4 : 8
    let bytes = (1...count).map { UInt8(truncatingIfNeeded: bits >> (8 * (total - $0))) }
    let rest = [UInt8](repeating: 0, count: isVersion4 ? 0 : 16 - count)
    guard let first = IPAddress(bytes: bytes + rest) else { return "" }
    return isVersion4 ? "\(first)" : "\(first)/\(8 * count)"
  }
}
