internal import CSodium
internal import Glibc

/// An Argon2id hash of a password with its salt and cost, in the text form that is stored
/// (`$argon2id$v=19$m=…,t=…,p=1$salt$hash`, RFC 9106).
///
/// Both making and verifying one take the memory and the time that its cost says: never on an
/// event loop's thread.
public struct PasswordHash: Sendable, Hashable {
  /// What a guess costs.
  public struct Cost: Sendable, Hashable {
    /// How often the memory is passed over, at least once.
    public let passes: Int
    /// How much memory is filled, in bytes, at least 8 KiB.
    public let memory: Int

    /// A cost.
    ///
    /// - Parameters:
    ///   - passes: 1 to 1,000.
    ///   - memory: 8 KiB to 4 GiB, in bytes; rounded down to whole KiB.
    public init(passes: Int, memory: Int) {
      self.passes = min(max(passes, 1), 1000)
      self.memory = min(max(memory, 8 << 10), 4 << 30)
    }
  }

  /// The stored form.
  public let text: String

  /// Takes a stored form.
  ///
  /// - Parameter text: what ``text`` of another hash was.
  /// - Returns: nil unless it is Argon2id's and not longer than libsodium's.
  public init?(stored text: String) {
    guard text.hasPrefix("$argon2id$"), text.utf8.count < Int(crypto_pwhash_STRBYTES),
      !text.utf8.contains(0)
    else { return nil }
    self.text = text
  }

  /// Hashes a password with a new random salt.
  ///
  /// - Parameters:
  ///   - password: its bytes.
  ///   - cost: what each later guess shall cost.
  /// - Throws: `.outOfMemory` if the system hasn't the memory for it.
  public init(of password: [UInt8], cost: Cost) throws(PasswordHashError) {
    precondition(Sodium.isStarted, "the system has no source of randomness")
    var stored = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
    let result = unsafe crypto_pwhash_str(
      &stored, password.map(CChar.init(bitPattern:)), UInt64(password.count),
      UInt64(cost.passes), cost.memory)
    guard result == 0 else { throw .outOfMemory }
    text = String(decoding: stored.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Whether a password is the one that was hashed.
  ///
  /// - Parameter password: its bytes.
  /// - Throws: `.outOfMemory` if the system hasn't the memory to tell.
  public func verifies(_ password: [UInt8]) throws(PasswordHashError) -> Bool {
    errno = 0
    let result = unsafe crypto_pwhash_str_verify(
      text, password.map(CChar.init(bitPattern:)), UInt64(password.count))
    // A mismatch and a failure give the same result, and different errors.
    guard result == 0 || errno != ENOMEM else { throw .outOfMemory }
    return result == 0
  }

  /// Whether it was made with another cost.
  ///
  /// - Parameter cost: the cost that is wanted.
  public func differs(from cost: Cost) -> Bool {
    unsafe crypto_pwhash_str_needs_rehash(text, UInt64(cost.passes), cost.memory) != 0
  }
}

/// Why a password couldn't be hashed.
public enum PasswordHashError: Error, Sendable, Hashable {
  /// The system hasn't the memory that the cost says.
  case outOfMemory
}
