internal import Glibc
internal import Platform

/// An IPv4 or IPv6 address.
///
/// An IPv4 address mapped into IPv6 (`::ffff:192.0.2.1`, RFC 4291 section 2.5.5.2) is the IPv4 address, so that both
/// spellings are equal.
package struct IPAddress: Sendable, Hashable {
  /// The 4 or 16 bytes in network order.
  package let bytes: [UInt8]

  /// Makes an address of 4 or 16 bytes in network order, or nil of any other number.
  package init?(bytes: [UInt8]) {
    let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]
    switch bytes.count {
    case 16 where bytes.starts(with: mapped): self.bytes = Array(bytes.dropFirst(mapped.count))
    case 4, 16: self.bytes = bytes
    default: return nil
    }
  }

  /// Parses an address in its usual text form, IPv6 without brackets and zone. Anything else gives nil.
  package init?(_ text: String) {
    guard let bytes = Self.parse(text) else { return nil }
    self.init(bytes: bytes)
  }

  /// Returns the bytes as written: those of a mapped address are 16.
  static func parse(_ text: String) -> [UInt8]? {
    guard !text.utf8.contains(0) else { return nil }
    let isVersion6 = text.utf8.contains(UInt8(ascii: ":"))
    var bytes = [UInt8](repeating: 0, count: isVersion6 ? 16 : 4)
    let result = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe inet_pton(isVersion6 ? AF_INET6 : AF_INET, text, buffer.baseAddress)
    }
    return result == 1 ? bytes : nil
  }

  /// The address 127.0.0.1.
  package static let loopback = IPAddress(version4: [127, 0, 0, 1])

  private init(version4 bytes: [UInt8]) { self.bytes = bytes }

  /// True if this is an IPv4 address.
  package var isVersion4: Bool { bytes.count == 4 }

  /// True if the address is one of 127.0.0.0/8 or ::1.
  package var isLoopback: Bool {
    isVersion4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
  }
}

extension IPAddress: CustomStringConvertible {
  /// The shortest text form (RFC 5952), without brackets.
  package var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let written = unsafe text.withUnsafeMutableBufferPointer { text in
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe inet_ntop(
          isVersion4 ? AF_INET : AF_INET6, bytes.baseAddress, text.baseAddress,
          socklen_t(text.count)
        ).map { unsafe String(cString: $0) }
      }
    }
    return written ?? ""
  }
}

extension IPAddress {
  /// The networks that are no part of the public Internet (the IANA special-purpose registries), or lead into it by another
  /// network's addresses.
  private static let special: [AddressRange] = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    // Of IPv6 only 2000::/3 is public, without Teredo, benchmarks, ORCHID, documentation and 6to4.
    "::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1",
  ].compactMap(AddressRange.init)

  /// True if the address is a host's on the public Internet.
  ///
  /// Loopback, private, link-local, shared, multicast, documentation and benchmark addresses are not; nor are those that
  /// embed an IPv4 address (NAT64, 6to4, Teredo, IPv4-compatible), whichever that is.
  package var isPublic: Bool { !Self.special.contains { $0.contains(self) } }
}

/// An address or a network in CIDR notation (RFC 4632), IPv4 or IPv6.
///
/// A range of IPv4 addresses mapped into IPv6 is the range of the IPv4 addresses. No range has both
/// kinds: `::/0` is every IPv6 address and no IPv4 address.
package struct AddressRange: Sendable, Hashable {
  /// The first address, whose bits behind the prefix are 0.
  package let first: IPAddress
  /// The number of leading bits that all addresses share: 0 to 32 or 0 to 128.
  package let prefixLength: Int

  /// Parses a range such as `10.1.2.3`, `10.0.0.0/8` or `fd00::/8`. Bits behind the prefix are ignored.
  ///
  /// - Parameter text: the range. Anything else gives nil.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let written = IPAddress.parse(String(parts[0])),
      let address = IPAddress(bytes: written)
    else { return nil }
    var length = written.count * 8
    if parts.count == 2 {
      guard parts[1].first != "+", let number = UInt8(parts[1]), number <= length else {
        return nil
      }
      length = Int(number)
    }
    // A mapped network whose prefix doesn't cover the mapping isn't one of IPv4 addresses only.
    let mappingBits = (written.count - address.bytes.count) * 8
    guard length >= mappingBits else { return nil }
    length -= mappingBits
    let network = address.bytes.enumerated().map { index, byte in
      byte & Self.mask(byte: index, prefixLength: length)
    }
    guard let first = IPAddress(bytes: network) else { return nil }
    self.first = first
    prefixLength = length
  }

  /// Returns whether an address lies in the range.
  package func contains(_ address: IPAddress) -> Bool {
    address.bytes.count == first.bytes.count
      && address.bytes.indices.allSatisfy { index in
        let mask = Self.mask(byte: index, prefixLength: prefixLength)
        return address.bytes[index] & mask == first.bytes[index]
      }
  }

  /// Returns the bits of one byte that belong to the prefix.
  private static func mask(byte index: Int, prefixLength: Int) -> UInt8 {
    let bits = min(max(prefixLength - index * 8, 0), 8)
    return UInt8(truncatingIfNeeded: 0xFF00 >> bits)
  }
}

extension AddressRange: CustomStringConvertible {
  /// The range, such as `10.0.0.0/8`, or its only address.
  package var description: String {
    prefixLength == first.bytes.count * 8 ? "\(first)" : "\(first)/\(prefixLength)"
  }
}

/// The part of a client's address that limits count by: an IPv4 address, or the /64 network of an IPv6 address, as one
/// subscriber usually has the whole of it. Networks belong to a site, of which somebody may have all.
package struct ClientNetwork: Sendable, Hashable {
  /// The prefix of a site.
  private static let siteBytes = (version4: 3, version6: 6)

  /// The 32 bits of an IPv4 address, or the first 64 bits of an IPv6 address.
  private let bits: UInt64
  package let isVersion4: Bool

  package init(of address: IPAddress) {
    isVersion4 = address.isVersion4
    bits = address.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The site: the /24 of an IPv4 address, or the /48 of an IPv6 address. Stored data is charged to it, and places and turns
  /// are shared by it.
  package var siteKey: ClientSite {
    let dropped = UInt64(isVersion4 ? 4 - Self.siteBytes.version4 : 8 - Self.siteBytes.version6)
    return ClientSite(bits: bits >> (8 * dropped), isVersion4: isVersion4)
  }
}

/// A site, as a key.
package struct ClientSite: Sendable, Hashable {
  fileprivate let bits: UInt64
  fileprivate let isVersion4: Bool
}

extension ClientNetwork: WorkClient {
  package var siteHash: Int { siteKey.hashValue }
}

extension ClientNetwork: CustomStringConvertible {
  /// Reads what ``description`` has written; nil if the words are none.
  package init?(words: String) {
    guard let address = IPAddress(String(words.prefix { $0 != "/" })) else { return nil }
    self.init(of: address)
  }

  /// The address, or the network such as `2001:db8::/64`.
  package var description: String { text(bytes: isVersion4 ? 4 : 8) }

  /// The name of the site, such as `192.0.2.0/24` or `2001:db8::/48`.
  package var site: String {
    text(bytes: isVersion4 ? Self.siteBytes.version4 : Self.siteBytes.version6)
  }

  /// The name of the most that one subscriber usually has: the IPv4 address, or the /48 network of an IPv6 address, as many get
  /// one for nothing. Rates count by it, since neighbours in a /24 are strangers to each other and would use up each other's.
  package var subscriber: String { text(bytes: isVersion4 ? 4 : Self.siteBytes.version6) }

  /// Returns the first bytes of the address as a network.
  private func text(bytes kept: Int) -> String {
    let known = isVersion4 ? 4 : 8
    let bytes = (1...kept).map { UInt8(truncatingIfNeeded: bits >> (8 * (known - $0))) }
    let rest = [UInt8](repeating: 0, count: (isVersion4 ? 4 : 16) - kept)
    guard let first = IPAddress(bytes: bytes + rest) else { return "" }
    return isVersion4 && kept == 4 ? "\(first)" : "\(first)/\(8 * kept)"
  }
}

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
