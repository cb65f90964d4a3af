internal import CSodium

/// Memory with a secret in it, written once, wiped when its last user lets go of it.
///
/// A class, because a value that moves leaves its bytes behind.
///
/// `@unchecked Sendable`: the bytes are written in `init` only, and freed by the last reference.
@safe final class SecretMemory: @unchecked Sendable {
  let count: Int
  private let bytes: UnsafeMutablePointer<UInt8>
  private let isGuarded: Bool

  /// Takes memory and has it filled.
  ///
  /// - Parameters:
  ///   - count: how many bytes, at least one.
  ///   - lifetime: where they are kept.
  ///   - fill: writes all of them.
  init(count: Int, for lifetime: KeyLifetime, fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    precondition(Sodium.isStarted, "the system has no source of randomness")
    self.count = count
    // Guarded memory needs three mappings of the process's limited number; a secret is worth having
    // without them too.
    if lifetime == .longTerm, let memory = unsafe sodium_malloc(count) {
      isGuarded = true
      unsafe bytes = memory.assumingMemoryBound(to: UInt8.self)
      unsafe fill(bytes)
      _ = unsafe sodium_mprotect_readonly(memory)
    } else {
      isGuarded = false
      unsafe bytes = .allocate(capacity: count)
      unsafe bytes.initialize(repeating: 0, count: count)
      unsafe fill(bytes)
    }
  }

  /// Copies a secret.
  convenience init(_ secret: [UInt8], for lifetime: KeyLifetime) {
    unsafe self.init(count: secret.count, for: lifetime) { memory in
      unsafe memory.update(from: secret, count: secret.count)
    }
  }

  deinit {
    if isGuarded {
      // Wipes before it frees.
      unsafe sodium_free(bytes)
    } else {
      unsafe sodium_memzero(bytes, count)
      unsafe bytes.deallocate()
    }
  }

  /// Lends the bytes to a C function.
  func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    unsafe body(bytes)
  }

  /// Lends a copy that is wiped afterwards.
  func withCopy<Result, Failure: Error>(
    _ body: ([UInt8]) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var copy = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    defer { wipe(&copy) }
    return try body(copy)
  }
}
