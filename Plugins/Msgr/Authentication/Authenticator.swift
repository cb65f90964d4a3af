internal import Cryptography
internal import Formats
internal import Platform
internal import Storage

/// The credentials of a request, not yet checked.
enum Credentials: Sendable {
  /// A name and a password, with the client's network, which failed logins are counted for, and the device that logs in, if
  /// one is named.
  case password(UserName, Password, from: ClientNetwork?, on: DeviceID? = nil)
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

/// Random letters and digits, each as likely as the others.
enum RandomText {
  static let lowercase = "0123456789abcdefghijklmnopqrstuvwxyz"
  static let letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

  /// Makes a text.
  ///
  /// - Parameters:
  ///   - alphabet: the characters, in ASCII.
  ///   - randomBytes: gives random bytes.
  static func make(
    _ count: Int, of alphabet: String = letters, randomBytes: (Int) -> [UInt8]
  ) -> String {
    let characters = Array(alphabet.utf8)
    // Higher bytes would favour the first characters.
    let limit = 256 - 256 % characters.count
    var text: [UInt8] = []
    while text.count < count {
      for byte in randomBytes(2 * count) where text.count < count && Int(byte) < limit {
        text.append(characters[Int(byte) % characters.count])
      }
    }
    return String(decoding: text, as: UTF8.self)
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

/// Finds out who calls, before anything is queued for the store's writer.
///
/// A password that was verified lately and a token that was seen lately are known from memory; others take one read.
/// The transaction that does the work compares the caller with the stored account.
final class Authenticator: Sendable {
  private let store: MsgrStore
  private let passwords: PasswordVerifier
  private let tokens = RecentValues<TokenHash, BoundToken>(limit: 1 << 16)

  init(_ store: MsgrStore, _ passwords: PasswordVerifier) {
    self.store = store
    self.passwords = passwords
  }

  /// Does something for a caller, once it is known.
  ///
  /// - Parameter act: does it, in a transaction that confirms the caller; it is called again if the caller's password or token
  ///   has changed meanwhile.
  /// - Returns: the closure's result.
  /// - Throws: ``RequestRefusal``, or the closure's error.
  func perform<Value: Sendable>(
    as credentials: Credentials, _ act: (Caller) async throws -> Value
  ) async throws -> Value {
    // Twice, if the password changes meanwhile.
    for _ in 0..<3 {
      let caller = try await identify(credentials)
      do {
        guard case .wallet(let name, let proof) = caller else { return try await act(caller) }
        return try await passwords.counting(name, from: proof.network) { try await act(caller) }
      } catch is OutdatedCaller { forget(caller) }
    }
    throw RequestRefusal.busy
  }

  private func identify(_ credentials: Credentials) async throws -> Caller {
    switch credentials {
    case .password(let name, let password, let network, let device):
      let hash = try await passwords.verify(password, of: name, from: network, on: device)
      return .password(name, hash)
    case .wallet(let name, let proof): return .wallet(name, proof)
    case .token(let hash, let claimed):
      guard let token = try await boundToken(hash), claimed == nil || claimed == token.name else {
        throw RequestRefusal.forbidden
      }
      return .token(token)
    }
  }

  private func boundToken(_ hash: TokenHash) async throws -> BoundToken? {
    if let token = tokens.value(for: hash) { return token }
    guard let token = try await store.boundToken(hash) else { return nil }
    tokens.insert(token, for: hash)
    return token
  }

  private func forget(_ caller: Caller) {
    switch caller {
    case .password(let name, let hash): passwords.forget(name, hash)
    case .wallet: break
    case .token(let token): tokens.remove(token.hash)
    }
  }
}
