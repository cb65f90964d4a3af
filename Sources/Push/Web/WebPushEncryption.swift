internal import Cryptography

/// The encryption of a push for one device (RFC 8291): one record of `aes128gcm` (RFC 8188).
package enum WebPushEncryption {
  /// The longest plain text, in bytes.
  package static let longest = recordSize - headLength - AES128GCM.tagLength - 1

  private static let recordSize = 4096
  private static let saltLength = 16
  private static let headLength = saltLength + 4 + 1 + P256PublicKey.length
  /// Lengths are padded to multiples of this, so that they tell little.
  private static let step = 128

  /// Encrypts a text.
  ///
  /// - Parameters:
  ///   - text: at most ``longest`` bytes.
  ///   - subscription: the device's keys.
  ///   - pair: a pair that is used for this message only.
  ///   - salt: 16 random bytes.
  /// - Returns: the body of the request, or nil if the text is too long or OpenSSL fails.
  static func encrypt(
    _ text: [UInt8], for subscription: WebPushSubscription, with pair: P256KeyPair, salt: [UInt8]
  ) -> [UInt8]? {
    guard text.count <= longest, salt.count == saltLength,
      let receiver = P256PublicKey(subscription.key),
      let agreed = pair.sharedSecret(with: receiver)
    else { return nil }
    let sender = pair.publicKey.bytes
    let info = Array("WebPush: info\0".utf8) + receiver.bytes + sender
    guard
      let secret = HKDF.derive(from: agreed, salt: subscription.secret, info: info, count: 32),
      let key = derive("aes128gcm", AES128GCM.keyLength, secret, salt),
      let nonce = derive("nonce", AES128GCM.nonceLength, secret, salt),
      let record = AES128GCM.seal(padded(text), key: key, nonce: nonce)
    else { return nil }
    let size = UInt32(recordSize)
    let sizeBytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) }
    return salt + sizeBytes + [UInt8(sender.count)] + sender + record
  }

  private static func derive(
    _ name: String, _ count: Int, _ secret: [UInt8], _ salt: [UInt8]
  ) -> [UInt8]? {
    HKDF.derive(
      from: secret, salt: salt, info: Array("Content-Encoding: \(name)\0".utf8), count: count)
  }

  /// Puts the delimiter of the last record behind the text, and zeros.
  private static func padded(_ text: [UInt8]) -> [UInt8] {
    let length = min((text.count + step) / step * step, longest + 1)
    return text + [2] + [UInt8](repeating: 0, count: length - text.count - 1)
  }
}
