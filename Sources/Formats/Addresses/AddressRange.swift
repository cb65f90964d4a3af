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
