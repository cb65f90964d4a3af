internal import Cryptography
internal import JSONWebTokens
internal import MsgrProtocol

/// The way to a browser, or to what UnifiedPush's distributors reach: an address, and the keys that messages are encrypted
/// with.
struct WebPushSubscription: Sendable, Hashable {
  /// The length of the secret, in bytes.
  static let secretLength = 16

  let endpoint: PushEndpoint
  /// The device's public key: an uncompressed point on P-256.
  let key: [UInt8]
  /// The secret that the device shares with the server.
  let secret: [UInt8]
  /// True if the device wants notifications that its browser can show by itself.
  let isDeclarative: Bool
}

extension WebPushSubscription {
  /// Reads the fields that a browser's `PushSubscription` gives.
  ///
  /// - Parameters:
  ///   - fields: the fields.
  ///   - allowed: the authorities that may have another port than 443.
  /// - Throws: ``FieldError`` for an address that can't be one, a point that isn't on the curve, or a secret of another
  ///   length.
  init(_ fields: FieldValues, allowed: Set<HostAndPort>) throws(FieldError) {
    endpoint = try PushEndpoint(try fields.text(.endpoint), allowed: allowed)
    guard let key = Base64URL.decode(try fields.text(.p256dh)), P256PublicKey(key) != nil else {
      throw FieldError(.p256dh, "is no uncompressed point on P-256 in base64url")
    }
    guard let secret = Base64URL.decode(try fields.text(.auth)),
      secret.count == Self.secretLength
    else { throw FieldError(.auth, "is not \(Self.secretLength) bytes in base64url") }
    self.key = key
    self.secret = secret
    isDeclarative = try fields.truth(.declarative)
  }
}
