internal import Cryptography
internal import Formats

/// The way to a browser, or to what UnifiedPush's distributors reach: an address, and the keys that messages are encrypted
/// with.
package struct WebPushSubscription: Sendable, Hashable {
  /// The length of the secret, in bytes.
  package static let secretLength = 16
  /// The length of both keys, in bytes.
  static let keysLength = P256PublicKey.length + secretLength

  /// The address that the push service takes pushes at.
  package let endpoint: PushEndpoint
  /// The device's public key: an uncompressed point on P-256.
  package let key: [UInt8]
  /// The secret that the device shares with the server.
  package let secret: [UInt8]

  /// Takes a subscription whose parts were checked.
  package init(endpoint: PushEndpoint, key: [UInt8], secret: [UInt8]) {
    (self.endpoint, self.key, self.secret) = (endpoint, key, secret)
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
