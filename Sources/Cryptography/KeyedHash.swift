internal import CSodium

/// BLAKE2b with a secret key (RFC 7693), 32 bytes long: a message authentication code.
public struct KeyedHash: Sendable {
  /// A digest: 32 bytes.
  public typealias Digest = Digest256<KeyedHash>

  private let key: [UInt8]

  /// Makes the function of a key.
  ///
  /// - Parameter key: 16 to 64 secret bytes.
  public init(key: [UInt8]) {
    precondition((16...64).contains(key.count), "a key has 16 to 64 bytes")
    self.key = key
  }

  /// Hashes parts such that no other division of the same bytes gives the same digest.
  ///
  /// - Parameter parts: any number of byte strings, each of which is hashed behind its length in eight bytes,
  ///   little-endian.
  public func hash(_ parts: [UInt8]...) -> Digest {
    var message: [UInt8] = []
    message.reserveCapacity(parts.reduce(0) { $0 + $1.count + 8 })
    for part in parts {
      let length = UInt64(part.count).littleEndian
      unsafe withUnsafeBytes(of: length) { unsafe message.append(contentsOf: $0) }
      message += part
    }
    defer { wipe(&message) }
    var digest = Digest()
    // It fails for sizes out of range only.
    unsafe digest.withMutablePointer {
      _ = unsafe crypto_generichash(
        $0, Digest.byteCount, message, UInt64(message.count), key, key.count)
    }
    return digest
  }
}
