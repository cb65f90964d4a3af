internal import CSodium

/// Memory with a secret in it, written once, and wiped with its last reference.
///
/// It is a class, because a value that moves leaves its bytes behind.
///
/// It is safe to share: the bytes are written in `init` only, and freed by the last reference.
@safe final class SecretMemory: @unchecked Sendable {
  let count: Int
  private let bytes: UnsafeMutablePointer<UInt8>
  private let isGuarded: Bool

  /// Allocates memory and fills it.
  ///
  /// - Parameters:
  ///   - count: the number of bytes, at least one.
  ///   - lifetime: decides in what memory they are kept.
  ///   - fill: writes all of them.
  init(count: Int, for lifetime: KeyLifetime, fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    precondition(Sodium.isStarted, "the system has no source of randomness")
    self.count = count
    // Guarded memory takes three of a limited number of mappings; without them a secret is kept all the same.
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

  /// Calls a C function with the bytes.
  func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    unsafe body(bytes)
  }

  /// Calls a closure with a copy that is wiped afterwards.
  func withCopy<Result, Failure: Error>(
    _ body: ([UInt8]) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var copy = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    defer { wipe(&copy) }
    return try body(copy)
  }
}
