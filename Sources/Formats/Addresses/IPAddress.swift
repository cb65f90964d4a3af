internal import Glibc

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
