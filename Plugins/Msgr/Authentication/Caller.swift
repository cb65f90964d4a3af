internal import Cryptography
internal import Formats
internal import Storage

/// The credentials of a request, not yet checked.
enum Credentials: Sendable {
  /// A name and a password, with the client's network, which failed logins are counted for.
  case password(UserName, Password, from: ClientNetwork?)
  /// A name, and the wallet of an account that has no password.
  case wallet(UserName, WalletProof)
  /// A token; another name beside it is refused.
  case token(TokenHash, claiming: UserName?)
}

/// A user whose credentials were found good.
///
/// It holds what they were compared with, so that the transaction that does the work can tell whether that still stands.
enum Caller: Sendable {
  /// A user who gave a password, and the stored hash that the password was verified against.
  case password(UserName, PasswordHash)
  /// A user without a password whose wallet has signed, once.
  case wallet(UserName, WalletProof)
  /// A user who gave a token.
  case token(BoundToken)

  /// The name of the account.
  var name: UserName {
    switch self {
    case .password(let name, _), .wallet(let name, _): name
    case .token(let token): token.name
    }
  }

  /// The device of the token, if the caller gave one.
  var device: DeviceID? {
    switch self {
    case .password, .wallet: nil
    case .token(let token): token.device
    }
  }
}

/// A token with the account and the device that it was made for, which stay the same as long as it lives.
struct BoundToken: Hashable, Sendable {
  let hash: TokenHash
  let name: UserName
  let device: DeviceID
}

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
