internal import Cryptography
internal import Storage

/// A token that stands for an account's session or for a program that publishes.
///
/// Only its hash is stored. A plain hash is enough, as nobody guesses 83 random bits or more.
struct BearerToken: Sendable {
  /// The forms of tokens, as clients know them.
  enum Form: String, CaseIterable, Sendable {
    /// 64 hexadecimal digits.
    case session
    /// `tk_` and 29 lower-case letters and digits, by which Apprise knows a token.
    case ntfy
    /// `A` and 14 letters and digits, as Gotify's clients want a program's.
    case gotify
    /// `C` and 14 letters and digits, as Gotify's clients want their own.
    case gotifyClient

    fileprivate var prefix: String {
      switch self {
      case .session: ""
      case .ntfy: "tk_"
      case .gotify: "A"
      case .gotifyClient: "C"
      }
    }

    fileprivate var alphabet: String {
      switch self {
      case .session: "0123456789abcdef"
      case .ntfy: RandomText.lowercase
      case .gotify, .gotifyClient: RandomText.letters
      }
    }

    /// The length of a whole token.
    var length: Int {
      switch self {
      case .session: 64
      case .ntfy: 32
      case .gotify, .gotifyClient: 15
      }
    }

    fileprivate func matches(_ token: some Collection<UInt8>) -> Bool {
      token.count == length && token.starts(with: prefix.utf8)
        && token.dropFirst(prefix.utf8.count).allSatisfy(alphabet.utf8.contains)
    }
  }

  /// The token as its holder shows it.
  let text: String
  /// The hash that is stored.
  let hash: TokenHash

  /// Makes a new token of a session.
  ///
  /// - Parameter randomBytes: 32 random bytes.
  init(_ randomBytes: [UInt8]) {
    text = Hex.encode(randomBytes)
    hash = TokenHash(digest: SHA256.hash(randomBytes))
  }

  /// Makes a new token.
  ///
  /// - Parameter randomBytes: gives random bytes.
  init(_ form: Form, randomBytes: (Int) -> [UInt8]) {
    let count = form.length - form.prefix.utf8.count
    text = form.prefix + RandomText.make(count, of: form.alphabet, randomBytes: randomBytes)
    hash = Self.hash(ofText: text.utf8)
  }

  /// Takes a token that was made otherwise.
  init(made text: String) {
    self.text = text
    hash = Self.hash(ofText: text.utf8)
  }

  /// Reads the credentials of an `Authorization` field (RFC 6750 section 2.1).
  ///
  /// - Returns: the hash, ``TokenHash/none`` if the token is malformed, or nil if the scheme is not Bearer.
  static func hash(inAuthorization value: some Collection<UInt8>) -> TokenHash? {
    let scheme = value.prefix { $0 != UInt8(ascii: " ") }
    guard scheme.elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) else { return nil }
    return hash(ofText: value.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") })
  }

  /// Hashes a token.
  ///
  /// - Returns: the hash, or ``TokenHash/none`` if that isn't a token.
  static func hash(ofText text: some Collection<UInt8>) -> TokenHash {
    if text.count == Form.session.length, let bytes = Hex.decode(text) {
      return TokenHash(digest: SHA256.hash(bytes))
    }
    guard Form.allCases.contains(where: { $0.matches(text) }) else { return TokenHash.none }
    return TokenHash(digest: SHA256.hash(Array(text)))
  }
}

extension BearerToken: CustomStringConvertible, CustomDebugStringConvertible {
  /// Asterisks in place of the token.
  var description: String { "***" }
  /// Asterisks in place of the token.
  var debugDescription: String { description }
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
