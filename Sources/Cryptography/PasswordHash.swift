internal import CSodium
internal import Glibc

/// An Argon2id hash of a password with its salt and cost, in the text form that is stored
/// (`$argon2id$v=19$m=…,t=…,p=1$salt$hash`, RFC 9106).
///
/// Making or verifying one takes the memory and the time of its cost, so do neither on an event loop's thread.
public struct PasswordHash: Sendable, Hashable {
  /// The cost of a guess.
  public struct Cost: Sendable, Hashable {
    /// The number of passes over the memory.
    public let passes: Int
    /// The memory that is filled, in bytes.
    public let memory: Int

    /// Makes a cost within the limits.
    ///
    /// - Parameters:
    ///   - passes: 1 to 1,000.
    ///   - memory: 8 KiB to 4 GiB, in bytes; it is rounded down to whole KiB.
    public init(passes: Int, memory: Int) {
      self.passes = min(max(passes, 1), 1000)
      self.memory = min(max(memory, 8 << 10), 4 << 30)
    }
  }

  /// The form that is stored.
  public let text: String

  /// Reads a stored hash.
  ///
  /// - Parameter text: the ``text`` of another hash.
  /// - Returns: the hash, or nil unless the text is Argon2id's and not longer than libsodium's.
  public init?(stored text: String) {
    guard text.hasPrefix("$argon2id$"), text.utf8.count < Int(crypto_pwhash_STRBYTES),
      !text.utf8.contains(0)
    else { return nil }
    self.text = text
  }

  /// Hashes a password with a new random salt.
  ///
  /// - Parameters:
  ///   - password: the bytes of the password.
  ///   - cost: the cost of each later guess.
  /// - Throws: `.outOfMemory` if the system doesn't have the memory for it.
  public init(of password: [UInt8], cost: Cost) throws(PasswordHashError) {
    precondition(Sodium.isStarted, "the system has no source of randomness")
    var stored = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
    let result = unsafe crypto_pwhash_str(
      &stored, password.map(CChar.init(bitPattern:)), UInt64(password.count),
      UInt64(cost.passes), cost.memory)
    guard result == 0 else { throw .outOfMemory }
    text = String(decoding: stored.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Returns whether a password is the one that was hashed.
  ///
  /// - Parameter password: the bytes of the password.
  /// - Throws: `.outOfMemory` if the system doesn't have the memory for it.
  public func verifies(_ password: [UInt8]) throws(PasswordHashError) -> Bool {
    errno = 0
    let result = unsafe crypto_pwhash_str_verify(
      text, password.map(CChar.init(bitPattern:)), UInt64(password.count))
    // A mismatch and a failure give the same result, and different errors.
    guard result == 0 || errno != ENOMEM else { throw .outOfMemory }
    return result == 0
  }

  /// Returns whether the hash was made with another cost.
  ///
  /// - Parameter cost: the cost that is wanted.
  public func differs(from cost: Cost) -> Bool {
    unsafe crypto_pwhash_str_needs_rehash(text, UInt64(cost.passes), cost.memory) != 0
  }
}

/// A reason for which a password couldn't be hashed.
public enum PasswordHashError: Error, Sendable, Hashable {
  /// The system doesn't have the memory of the cost.
  case outOfMemory
}
