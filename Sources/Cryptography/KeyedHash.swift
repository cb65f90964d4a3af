internal import CSodium

/// BLAKE2b with a secret key (RFC 7693), 32 bytes long: a message authentication code.
public struct KeyedHash: Sendable {
  private let key: [UInt8]

  /// A function of its own.
  ///
  /// - Parameter key: 16 to 64 secret bytes.
  public init(key: [UInt8]) {
    precondition((16...64).contains(key.count), "a key has 16 to 64 bytes")
    self.key = key
  }

  /// Hashes parts such that no other division of the same bytes gives the same hash.
  ///
  /// - Parameter parts: each is preceded by its length, eight bytes little-endian.
  /// - Returns: 32 bytes.
  public func hash(_ parts: [UInt8]...) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(parts.reduce(0) { $0 + $1.count + 8 })
    for part in parts {
      for shift in stride(from: 0, to: 64, by: 8) {
        message.append(UInt8(truncatingIfNeeded: part.count >> shift))
      }
      message += part
    }
    var digest = [UInt8](repeating: 0, count: Int(crypto_generichash_BYTES))
    // It fails for sizes out of range only.
    _ = unsafe crypto_generichash(
      &digest, digest.count, message, UInt64(message.count), key, key.count)
    unsafe message.withUnsafeMutableBytes { unsafe sodium_memzero($0.baseAddress, $0.count) }
    return digest
  }
}
