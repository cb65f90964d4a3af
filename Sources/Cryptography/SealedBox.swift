internal import CSodium

/// Boxes from nobody in particular (libsodium's `crypto_box_seal`): an ephemeral key of the sender's
/// and a nonce that follows from it.
public enum SealedBox {
  /// How much longer a box is than its message, in bytes: the ephemeral key and the tag.
  public static let overhead = Int(crypto_box_PUBLICKEYBYTES + crypto_box_MACBYTES)

  /// Seals a message.
  ///
  /// - Returns: a box ``overhead`` bytes longer; nil if the key is of low order.
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
  /// - Returns: the message; nil if it wasn't sealed to this pair, or was changed.
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
