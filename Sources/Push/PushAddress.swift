internal import Cryptography
package import Formats

/// The fault of an address, in words that follow its name.
package struct PushAddressError: Error, CustomStringConvertible {
  /// The expected form, as "is not …".
  package let description: String
}

/// An address that can be pushed to. It is a kind of secret, as its holder may push to the device.
package struct PushAddress: Hashable, Sendable {
  /// The lengths of Apple's tokens, in bytes.
  private static let lengthsOfAPNs = 32...100
  /// The lengths of Google's tokens, in bytes.
  private static let lengthsOfFCM = 32...1024

  /// The kind.
  package let kind: PushKind
  /// The form that is stored: Apple's token as lower-case hexadecimal digits, Google's as it is, and of a browser the
  /// public key, the secret and the URL of ``WebPushSubscription``.
  package let bytes: [UInt8]

  /// Takes a stored address, which was checked before it was stored.
  package init(stored kind: PushKind, _ bytes: [UInt8]) { (self.kind, self.bytes) = (kind, bytes) }

  /// Checks an address.
  ///
  /// - Parameters:
  ///   - kind: the kind.
  ///   - bytes: Apple's token itself, and all else as it is stored.
  ///   - allowed: the hosts of browsers' push services that may have another port than 443.
  /// - Throws: ``PushAddressError`` that says what is expected.
  package init(
    _ kind: PushKind, bytes: [UInt8], allowed: Set<HostAndPort> = []
  ) throws(PushAddressError) {
    switch kind {
    case .apns, .apnsSandbox:
      guard Self.lengthsOfAPNs.contains(bytes.count) else {
        throw PushAddressError(description: "is not 32 to 100 bytes")
      }
      self.init(stored: kind, Array(Hex.encode(bytes).utf8))
    case .fcm:
      guard Self.lengthsOfFCM.contains(bytes.count),
        bytes.allSatisfy({ $0.isLetterOrDigit || "_:-".utf8.contains($0) })
      else {
        throw PushAddressError(description: "is not 32 to 1,024 of the characters of an FCM token")
      }
      self.init(stored: kind, bytes)
    case .web:
      self = try WebPushSubscription(bytes, allowed: allowed).address
    }
  }

  /// Checks a token in text: Apple's in hexadecimal digits, or Google's.
  ///
  /// - Throws: ``PushAddressError`` that says what is expected.
  package init(_ kind: PushKind, text: String) throws(PushAddressError) {
    guard kind == .apns || kind == .apnsSandbox else {
      self = try PushAddress(kind, bytes: Array(text.utf8))
      return
    }
    guard let bytes = Hex.decode(text.utf8) else {
      throw PushAddressError(description: "is not 64 to 200 hexadecimal digits, an even number")
    }
    try self.init(kind, bytes: bytes)
  }

  /// The token in text, or the URL of a browser.
  package var text: String {
    kind == .web
      ? String(decoding: bytes.dropFirst(WebPushSubscription.keysLength), as: UTF8.self)
      : String(decoding: bytes, as: UTF8.self)
  }
}

extension PushAddress: CustomStringConvertible, CustomDebugStringConvertible {
  /// The first characters of a token, or the origin of a browser's push service: enough for a log.
  package var description: String {
    kind == .web ? PushEndpoint(stored: text)?.origin ?? "" : "\(text.prefix(8))…"
  }
  /// The same as ``description``.
  package var debugDescription: String { description }
}
