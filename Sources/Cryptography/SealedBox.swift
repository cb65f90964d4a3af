internal import CSodium

/// Boxes from an anonymous sender (libsodium's `crypto_box_seal`), with an ephemeral key and a nonce that follows
/// from it.
public enum SealedBox {
  /// The bytes by which a box is longer than its message: the ephemeral key and the tag.
  public static let overhead = Int(crypto_box_PUBLICKEYBYTES + crypto_box_MACBYTES)

  /// Seals a message.
  ///
  /// - Parameters:
  ///   - message: any number of bytes.
  ///   - key: the recipient's public key.
  /// - Returns: a box that is ``overhead`` bytes longer, or nil if the key is of low order.
  public static func seal(_ message: [UInt8], to key: EncryptionPublicKey) -> [UInt8]? {
    precondition(Sodium.isStarted, "the system has no source of randomness")
    var box = [UInt8](repeating: 0, count: message.count + overhead)
    let result = unsafe key.withPointer {
      unsafe crypto_box_seal(&box, message, UInt64(message.count), $0)
    }
    return result == 0 ? box : nil
  }

  /// Opens a box.
  ///
  /// - Parameters:
  ///   - box: the box.
  ///   - pair: the recipient's pair.
  /// - Returns: the message, or nil if the box wasn't sealed to this pair, or was changed.
  public static func open(_ box: [UInt8], with pair: EncryptionKeyPair) -> [UInt8]? {
    guard box.count >= overhead else { return nil }
    var message = [UInt8](repeating: 0, count: box.count - overhead)
    let result = unsafe pair.publicKey.withPointer { key in
      unsafe pair.secret.withPointer {
        unsafe crypto_box_seal_open(&message, box, UInt64(box.count), key, $0)
      }
    }
    return result == 0 ? message : nil
  }
}
