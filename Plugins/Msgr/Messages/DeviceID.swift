internal import Formats

/// A device: the token that the push service knows it by, or the name of one that only streams.
struct DeviceID: Hashable, Sendable {
  private static let streamPrefix = "stream:"
  private static let fcmPrefix = "fcm:"
  /// The beginning of the names of Gotify's clients, which only stream.
  static let gotifyPrefix = "stream:gotify-"

  /// 64 to 200 lower-case hexadecimal digits, which are Apple's token; `fcm:` and Google's token, 32 to 1,024 of
  /// `[0-9A-Za-z_:-]`; or `stream:` and 8 to 64 of `[0-9A-Za-z-]`, with a slash and the user's name behind it once it is
  /// known whose it is.
  let text: String

  /// Checks a device identifier.
  ///
  /// - Throws: ``FieldError`` that says what is expected.
  init(_ text: String) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(.deviceID, "is empty") }
    if text.utf8.starts(with: Self.streamPrefix.utf8) {
      let name = text.utf8.dropFirst(Self.streamPrefix.utf8.count)
      guard (8...64).contains(name.count),
        name.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "-") })
      else {
        throw FieldError(
          .deviceID, "does not have 8 to 64 letters, digits and hyphens after stream:")
      }
      self.text = text
    } else if text.utf8.starts(with: Self.fcmPrefix.utf8) {
      let token = text.utf8.dropFirst(Self.fcmPrefix.utf8.count)
      guard (32...1024).contains(token.count),
        token.allSatisfy({ $0.isLetterOrDigit || "_:-".utf8.contains($0) })
      else {
        throw FieldError(
          .deviceID, "does not have 32 to 1,024 of the characters of an FCM token after fcm:")
      }
      self.text = text
    } else {
      let digits = text.utf8
      guard (64...200).contains(digits.count), digits.count.isMultiple(of: 2),
        text.unicodeScalars.allSatisfy(\.properties.isASCIIHexDigit)
      else { throw FieldError(.deviceID, "is not 64 to 200 hexadecimal digits, an even number") }
      self.text = text.lowercased()
    }
  }

  /// Takes a stored identifier, which was checked before it was stored.
  init(stored text: String) { self.text = text }

  /// Returns the device as one of a user's: anybody may choose the name of a device that only streams, and the same name is
  /// another device for another user. A push token is the same device whoever uses it.
  func owned(by name: UserName) -> DeviceID {
    isPushable ? self : DeviceID(stored: "\(text)/\(name.text)")
  }

  /// The user whose device it is, if its name alone says so.
  var owner: UserName? {
    // By bytes: with an accent behind it a slash is another character.
    text.utf8.firstIndex(of: UInt8(ascii: "/")).map {
      UserName(stored: String(text[text.utf8.index(after: $0)...]))
    }
  }

  /// True if messages are pushed to the device while it doesn't stream.
  var isPushable: Bool { !text.utf8.starts(with: Self.streamPrefix.utf8) }

  /// True for a client of Gotify's kind.
  var isGotify: Bool { text.utf8.starts(with: Self.gotifyPrefix.utf8) }

  /// The token that Google's push service (FCM) knows the device by, or nil for one that isn't pushed to that way.
  var fcmToken: Substring? {
    text.utf8.starts(with: Self.fcmPrefix.utf8)
      ? text[text.utf8.index(text.startIndex, offsetBy: Self.fcmPrefix.utf8.count)...] : nil
  }
}

// A device token is a kind of secret: its holder may push to the device.
extension DeviceID: CustomStringConvertible, CustomDebugStringConvertible {
  /// The first digits only, enough to tell devices apart in a log.
  var description: String { "\(text.prefix(isPushable ? 8 : 15))…" }
  /// The same as ``description``.
  var debugDescription: String { description }
}
