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
  /// - Parameter count: the number of bytes, at least one.
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

/// A secret SHA-512 digest, of parts on which two key pairs agree. Its parts are wiped once it is made, and the digest itself
/// on release.
public struct SecretDigest: Sendable {
  /// A part of the hashed message.
  public enum Part: Sendable {
    /// Bytes that anybody may know.
    case bytes([UInt8])
    /// The 32 bytes on which an own pair agrees with another's public key (X25519, RFC 7748).
    case agreement(EncryptionKeyPair, EncryptionPublicKey)
    /// A secret that is no agreement; its owner wipes it.
    case secret([UInt8])
  }

  private static let agreementLength = Int(crypto_scalarmult_BYTES)

  private let digest: SecretMemory

  /// Hashes parts, one behind the other.
  ///
  /// - Returns: nil if a public key of an agreement is of low order.
  public init?(of parts: [Part]) {
    var isAgreed = true
    digest = unsafe SecretMemory(count: SHA512.Digest.byteCount, for: .session) { memory in
      var state = crypto_hash_sha512_state()
      // None of these has a way to fail.
      unsafe crypto_hash_sha512_init(&state)
      for part in parts {
        switch part {
        case .bytes(let bytes), .secret(let bytes):
          unsafe crypto_hash_sha512_update(&state, bytes, UInt64(bytes.count))
        case .agreement(let own, let peer):
          let length = Self.agreementLength
          unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { shared in
            guard let start = shared.baseAddress else { return }
            let result = unsafe peer.withPointer { peer in
              unsafe own.secret.withPointer { unsafe crypto_scalarmult(start, $0, peer) }
            }
            if result != 0 { isAgreed = false }
            unsafe crypto_hash_sha512_update(&state, start, UInt64(length))
            unsafe sodium_memzero(start, length)
          }
        }
      }
      unsafe crypto_hash_sha512_final(&state, memory)
      unsafe sodium_memzero(&state, MemoryLayout<crypto_hash_sha512_state>.size)
    }
    guard isAgreed else { return nil }
  }

  /// Returns whether the digest begins with the bytes of a value; the time taken does not depend on how many are right.
  public func begins(with value: some FixedBytes) -> Bool {
    let count = type(of: value).byteCount
    guard count <= digest.count else { return false }
    return unsafe value.withPointer { value in
      unsafe digest.withPointer { unsafe sodium_memcmp($0, value, count) == 0 }
    }
  }

  /// Reveals bytes of the digest.
  ///
  /// - Parameter type: the type of the value that they become.
  public func reveal<Value: FixedBytes>(_ type: Value.Type, at offset: Int = 0) -> Value {
    precondition(
      offset >= 0 && offset + Value.byteCount <= digest.count, "the value lies in the digest")
    var value = Value()
    unsafe value.withMutablePointer { value in
      unsafe digest.withPointer { unsafe value.update(from: $0 + offset, count: Value.byteCount) }
    }
    return value
  }

  /// Copies 32 bytes of the digest.
  func secret(at offset: Int) -> SecretMemory {
    let length = Self.agreementLength
    precondition(offset >= 0 && offset + length <= digest.count, "the secret lies in the digest")
    return unsafe SecretMemory(count: length, for: .session) { memory in
      unsafe digest.withPointer { unsafe memory.update(from: $0 + offset, count: length) }
    }
  }
}

/// Overwrites a secret with zeros, which no optimizer leaves out, and empties the array.
///
/// Other arrays that share the memory keep their bytes, so there must be none.
public func wipe(_ bytes: inout [UInt8]) {
  unsafe bytes.withUnsafeMutableBytes { unsafe sodium_memzero($0.baseAddress, $0.count) }
  bytes = []
}

/// Random bytes from the system's generator, fit for keys.
public enum SecureRandom {
  /// Makes random bytes.
  ///
  /// - Parameter count: the number of bytes.
  /// - Returns: uniform and independent bytes.
  public static func bytes(_ count: Int) -> [UInt8] {
    precondition(Sodium.isStarted, "the system has no source of randomness")
    var bytes = [UInt8](repeating: 0, count: count)
    unsafe randombytes_buf(&bytes, count)
    return bytes
  }
}

/// The start of libsodium, once in a process.
enum Sodium {
  /// True if libsodium works. Before it is started its generator is not safe to share between threads.
  static let isStarted: Bool = sodium_init() >= 0
}

/// The time for which a secret is kept, which decides in which memory it lies.
public enum KeyLifetime: Sendable, Hashable {
  /// The secret is kept for years, in locked memory between guard pages, read-only, wiped on release.
  ///
  /// libsodium takes four pages (16 KiB) for each, so this is for the few keys of a service or a user, not for those of
  /// each of ten thousand sessions.
  case longTerm
  /// The secret is kept for one connection, in ordinary memory, wiped on release.
  case session
}
