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
    hash = TokenHash(digest: SHA256.hash(randomBytes))
  }

  /// Reads the credentials of an `Authorization` field (RFC 6750 section 2.1).
  ///
  /// - Parameter value: the field's value.
  /// - Returns: the hash, ``TokenHash/none`` if the token is malformed, or nil if the scheme is not Bearer.
  static func hash(inAuthorization value: some Collection<UInt8>) -> TokenHash? {
    let scheme = value.prefix { $0 != UInt8(ascii: " ") }
    guard scheme.elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) else { return nil }
    let digits = value.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
    return hash(ofDigits: digits)
  }

  /// Hashes a token.
  ///
  /// - Parameter digits: the token as 64 hexadecimal digits.
  /// - Returns: the hash, or ``TokenHash/none`` if that isn't a token.
  static func hash(ofDigits digits: some Collection<UInt8>) -> TokenHash {
    guard digits.count == 64, let bytes = Hex.decode(digits) else { return TokenHash.none }
    return TokenHash(digest: SHA256.hash(bytes))
  }
}

/// The SHA-256 of a token.
///
/// A token is looked up by its hash, not compared in constant time. The time of a look-up may tell something about the
/// hash, from which no token follows.
struct TokenHash: FixedBytes, DatabaseValueConvertible {
  private(set) var digest = SHA256.Digest()

  /// A hash to which no token is known.
  static let none = TokenHash()

  init() {}

  init(digest: SHA256.Digest) { self.digest = digest }
}

extension BearerToken: CustomStringConvertible, CustomDebugStringConvertible {
  /// Asterisks in place of the token.
  var description: String { "***" }
  /// Asterisks in place of the token.
  var debugDescription: String { description }
}
