internal import CSodium

/// A key that seals secrets for storage (libsodium's `crypto_secretbox_easy`), each with a random nonce in front. The
/// key itself is stored elsewhere.
public struct SecretBox: Sendable {
  /// The bytes by which a box is longer than its message: the nonce and the tag.
  public static let overhead = Int(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES)

  private let key: SecretMemory

  /// Makes a new key.
  public init() {
    key = unsafe SecretMemory(count: Int(crypto_secretbox_KEYBYTES), for: .longTerm) { memory in
      unsafe randombytes_buf(memory, Int(crypto_secretbox_KEYBYTES))
    }
  }

  /// Takes a key.
  ///
  /// - Parameter key: 32 secret bytes. They are copied: ``wipe(_:)`` the original.
  /// - Returns: the key, or nil for any other number of bytes.
  public init?(key: [UInt8]) {
    guard key.count == Int(crypto_secretbox_KEYBYTES) else { return nil }
    self.key = SecretMemory(key, for: .longTerm)
  }

  /// Calls a closure with the key, to be written to a file that only its owner reads.
  ///
  /// - Parameter body: gets 32 bytes, which are wiped when it returns unless it keeps them.
  /// - Returns: the closure's result.
  public func withKey<Result, Failure: Error>(
    _ body: ([UInt8]) throws(Failure) -> Result
  ) throws(Failure) -> Result { try key.withCopy(body) }

  /// Seals a message.
  ///
  /// - Returns: 24 random bytes, the tag and the ciphertext: ``overhead`` bytes more.
  public func seal(_ message: [UInt8]) -> [UInt8] {
    let nonceLength = Int(crypto_secretbox_NONCEBYTES)
    var box = [UInt8](repeating: 0, count: message.count + Self.overhead)
    unsafe box.withUnsafeMutableBufferPointer { box in
      guard let start = box.baseAddress else { return }
      unsafe randombytes_buf(start, nonceLength)
      // It fails for messages of exabytes only.
      _ = unsafe key.withPointer {
        unsafe crypto_secretbox_easy(start + nonceLength, message, UInt64(message.count), start, $0)
      }
    }
    return box
  }

  /// Opens a box.
  ///
  /// - Returns: the message, or nil if the box wasn't sealed with this key, or was changed.
  public func open(_ box: [UInt8]) -> [UInt8]? {
    guard box.count >= Self.overhead else { return nil }
    let nonceLength = Int(crypto_secretbox_NONCEBYTES)
    var message = [UInt8](repeating: 0, count: box.count - Self.overhead)
    let result = unsafe box.withUnsafeBufferPointer { box in
      guard let start = box.baseAddress else { return Int32(-1) }
      return unsafe key.withPointer {
        unsafe crypto_secretbox_open_easy(
          &message, start + nonceLength, UInt64(box.count - nonceLength), start, $0)
      }
    }
    return result == 0 ? message : nil
  }
}
