internal import Cryptography
internal import Storage

/// A token that a device shows in place of its account's name and password: 32 random bytes.
///
/// Only its hash is stored. A plain hash is enough, as nobody guesses 256 random bits.
struct BearerToken: Sendable {
  /// The token as 64 lower-case hexadecimal digits.
  let text: String
  /// The hash that is stored.
  let hash: TokenHash

  /// Makes a new token.
  ///
  /// - Parameter randomBytes: 32 random bytes.
  init(_ randomBytes: [UInt8]) {
    text = Hex.encode(randomBytes)
    hash = TokenHash(bytes: SHA256.hash(randomBytes).bytes)
  }

  /// Reads the credentials of an `Authorization` field (RFC 6750 section 2.1).
  ///
  /// - Parameter value: the field's value.
  /// - Returns: nil if the scheme is not Bearer, or a hash that no token has if the token is malformed.
  static func hash(inAuthorization value: some Collection<UInt8>) -> TokenHash? {
    let scheme = value.prefix { $0 != UInt8(ascii: " ") }
    guard scheme.elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) else { return nil }
    let digits = value.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
    guard digits.count == 64, let bytes = Hex.decode(digits) else { return TokenHash(bytes: []) }
    return TokenHash(bytes: SHA256.hash(bytes).bytes)
  }
}

/// The SHA-256 of a token: 32 bytes, or no bytes, which no stored hash equals.
///
/// A token is looked up by its hash, not compared in constant time. The time of a look-up may tell something about the
/// hash, from which no token follows.
struct TokenHash: Hashable, Sendable, DatabaseValueConvertible {
  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// The hash, as BLOB.
  var databaseValue: DatabaseValue { .blob(bytes) }

  init?(databaseValue: DatabaseValue) {
    guard case .blob(let bytes) = databaseValue else { return nil }
    self.bytes = bytes
  }
}

extension BearerToken: CustomStringConvertible, CustomDebugStringConvertible {
  /// Asterisks in place of the token.
  var description: String { "***" }
  /// Asterisks in place of the token.
  var debugDescription: String { description }
}
