package import Formats

internal import Cryptography

/// The way to a browser, or to what UnifiedPush's distributors reach: an address, and the keys that messages are encrypted
/// with.
package struct WebPushSubscription: Sendable, Hashable {
  /// The length of the secret, in bytes.
  package static let secretLength = 16
  /// The length of both keys, in bytes.
  static let keysLength = P256PublicKey.length + secretLength

  /// The address at which the push service accepts pushes.
  package let endpoint: PushEndpoint
  /// The device's public key: an uncompressed point on P-256.
  package let key: [UInt8]
  /// The secret that the device shares with the server.
  package let secret: [UInt8]

  /// Takes a subscription whose parts were checked.
  package init(endpoint: PushEndpoint, key: [UInt8], secret: [UInt8]) {
    self.endpoint = endpoint
    self.key = key
    self.secret = secret
  }

  /// Reads an address: the key, the secret and the URL.
  init(_ bytes: [UInt8], allowed: Set<HostAndPort>) throws(PushAddressError) {
    let keys = bytes.prefix(Self.keysLength)
    guard P256PublicKey(Array(keys.prefix(P256PublicKey.length))) != nil,
      keys.count == Self.keysLength,
      let text = String(validating: bytes.dropFirst(Self.keysLength), as: UTF8.self)
    else { throw PushAddressError(description: "is not a point on P-256, 16 bytes and a URL") }
    self.init(keys, try PushEndpoint(text, allowed: allowed))
  }

  /// Takes a stored address, or nil for one of another kind.
  init?(_ address: PushAddress) {
    guard address.kind == .web, let endpoint = PushEndpoint(stored: address.text) else {
      return nil
    }
    self.init(address.bytes.prefix(Self.keysLength), endpoint)
  }

  private init(_ keys: ArraySlice<UInt8>, _ endpoint: PushEndpoint) {
    self.init(
      endpoint: endpoint, key: Array(keys.prefix(P256PublicKey.length)),
      secret: Array(keys.suffix(Self.secretLength)))
  }

  /// The subscription as an address.
  package var address: PushAddress {
    PushAddress(stored: .web, key + secret + Array(endpoint.text.utf8))
  }
}

/// The address at which a push service accepts pushes for one subscription (RFC 8030 section 2): a user's word, so an `https`
/// URL and nothing more.
package struct PushEndpoint: Hashable, Sendable {
  /// The longest address, in bytes.
  package static let longest = 1024
  /// The port of `https`.
  static let ownPort: UInt16 = 443

  /// The URL as it was given.
  package let text: String
  /// Host and port, without the scheme's own.
  package let authority: HostAndPort

  /// Checks an address.
  ///
  /// - Parameters:
  ///   - text: the URL.
  ///   - allowed: the hosts that may have another port than 443.
  /// - Throws: ``PushAddressError`` that says which rule it breaks.
  package init(_ text: String, allowed: Set<HostAndPort>) throws(PushAddressError) {
    guard text.utf8.count <= Self.longest else {
      throw PushAddressError(description: "is longer than \(Self.longest) bytes")
    }
    guard let endpoint = PushEndpoint(stored: text) else {
      throw PushAddressError(description: "is no https URL without user information and fragment")
    }
    guard endpoint.authority.port == nil || allowed.contains(endpoint.authority) else {
      throw PushAddressError(
        description: "has another port than 443, which the operator has not allowed")
    }
    self = endpoint
  }

  /// Takes a stored address, which was checked before it was stored.
  package init?(stored text: String) {
    guard let url = WebURL(text, schemes: ["https"]) else { return nil }
    self.text = text
    authority = HostAndPort(url, ownPort: Self.ownPort)
  }

  /// The origin, which names the push service.
  package var origin: String { "https://\(authority)" }
}

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
