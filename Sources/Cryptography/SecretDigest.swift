internal import CSodium

/// A secret SHA-512 digest, of parts on which two key pairs agree. Its parts are wiped once it is made, and the digest itself
/// on release.
public struct SecretDigest: Sendable {
  /// A part of what is hashed.
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

  /// Returns whether the digest begins with the bytes of a value; the time does not tell how many are right.
  public func begins(with value: some FixedBytes) -> Bool {
    let count = type(of: value).byteCount
    guard count <= digest.count else { return false }
    return unsafe value.withPointer { value in
      unsafe digest.withPointer { unsafe sodium_memcmp($0, value, count) == 0 }
    }
  }

  /// Reveals bytes of the digest.
  ///
  /// - Parameters:
  ///   - type: the type of the value that they become.
  ///   - offset: the offset of the first of them; all lie in the digest.
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
