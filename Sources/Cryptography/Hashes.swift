internal import CNettle
internal import COpenSSL
internal import CSodium

/// SHA-256 (FIPS 180-4), from OpenSSL, which uses the processor's instructions for it.
public enum SHA256 {
  /// A digest: 32 bytes.
  public typealias Digest = Digest256<SHA256>

  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  public static func hash(_ message: [UInt8]) -> Digest { unsafe hash(message.span.bytes) }

  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  public static func hash(_ message: RawSpan) -> Digest {
    var digest = Digest()
    unsafe message.withUnsafeBytes { message in
      unsafe digest.withMutablePointer {
        _ = unsafe COpenSSL.SHA256(message.baseAddress, message.count, $0)
      }
    }
    return digest
  }
}

/// SHA-256 of a message that comes in parts.
@safe public struct SHA256Stream: ~Copyable {
  private let context: OpaquePointer?

  /// Makes the hash of nothing.
  public init() {
    unsafe context = EVP_MD_CTX_new()
    unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil)
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  /// Adds a part of the message.
  ///
  /// - Parameter part: any number of bytes.
  public func update(_ part: ArraySlice<UInt8>) {
    _ = unsafe part.withUnsafeBytes { unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
  }

  /// Ends the message.
  ///
  /// - Returns: the digest, or nil if the system had no memory for the work.
  public consuming func finish() -> SHA256.Digest? {
    guard let context = unsafe context else { return nil }
    var digest = SHA256.Digest()
    let isDone = unsafe digest.withMutablePointer { unsafe EVP_DigestFinal_ex(context, $0, nil) }
    return isDone == 1 ? digest : nil
  }
}

/// SHA-512 (FIPS 180-4), from OpenSSL, which takes two thirds of libsodium's time for a message of 1 KB.
public enum SHA512 {
  /// A digest: 64 bytes.
  public struct Digest: FixedBytes {
    private var words = EightWords()

    /// Makes a digest of 64 zero bytes.
    public init() {}
  }

  /// Hashes a message that lies in two pieces, without joining them.
  ///
  /// - Parameters:
  ///   - head: any number of bytes.
  ///   - tail: the bytes behind them.
  public static func hash(_ head: [UInt8], _ tail: ArraySlice<UInt8> = []) -> Digest {
    var digest = Digest()
    guard let context = unsafe EVP_MD_CTX_new() else {
      preconditionFailure("the system has no memory for a hash")
    }
    defer { unsafe EVP_MD_CTX_free(context) }
    var isDone = unsafe EVP_DigestInit_ex2(context, algorithm, nil)
    isDone &= unsafe EVP_DigestUpdate(context, head, head.count)
    isDone &= unsafe tail.withUnsafeBytes {
      unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count)
    }
    isDone &= unsafe digest.withMutablePointer { unsafe EVP_DigestFinal_ex(context, $0, nil) }
    precondition(isDone == 1, "OpenSSL has no SHA-512")
    return digest
  }

  /// Looked up once for the process, and never freed.
  private nonisolated(unsafe) static let algorithm: OpaquePointer? =
    // Safe to share: nothing changes it.
    unsafe EVP_MD_fetch(nil, "SHA512", nil)
}

/// SHA-1 (FIPS 180-4), for the handshake of WebSockets (RFC 6455). It protects nothing.
public enum SHA1 {
  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  /// - Returns: 20 bytes.
  public static func hash(_ message: [UInt8]) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: Int(SHA_DIGEST_LENGTH)) { digest, count in
      unsafe COpenSSL.SHA1(message, message.count, digest.baseAddress)
      count = Int(SHA_DIGEST_LENGTH)
    }
  }
}

/// Keccak-256 as Ethereum uses it: the sponge of SHA-3 with the padding it had before FIPS 202.
///
/// FIPS 202 appends the bits `01` to the message and the original Keccak nothing, so the first padding byte is `0x01`
/// here and `0x06` in `SHA3-256`: the two never agree.
public enum Keccak256 {
  /// A digest: 32 bytes.
  public typealias Digest = Digest256<Keccak256>

  /// The sponge's rate in bytes: 1600 bits of state less twice the 256 bits of output.
  private static let rate = 136

  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  public static func hash(_ message: [UInt8]) -> Digest {
    var state = sha3_state()
    var offset = 0
    while message.count - offset >= rate {
      state.absorb(message[offset..<offset + rate])
      offset += rate
    }
    var last = [UInt8](message[offset...])
    last.append(0x01)
    last.append(contentsOf: repeatElement(0, count: rate - last.count))
    last[rate - 1] |= 0x80
    state.absorb(last[...])
    // The output is the first lanes, each little-endian.
    var digest = Digest()
    digest.words.first = state.a.0.littleEndian
    digest.words.second = state.a.1.littleEndian
    digest.words.third = state.a.2.littleEndian
    digest.words.fourth = state.a.3.littleEndian
    return digest
  }
}

extension sha3_state {
  /// Adds one block of `rate` bytes as little-endian lanes, and permutes.
  fileprivate mutating func absorb(_ block: ArraySlice<UInt8>) {
    unsafe withUnsafeMutableBytes(of: &a) { bytes in
      let lanes = unsafe bytes.assumingMemoryBound(to: UInt64.self)
      for (index, byte) in block.enumerated() {
        unsafe lanes[index / 8] ^= UInt64(byte) << (8 * UInt64(index % 8))
      }
    }
    unsafe nettle_sha3_permute(&self)
  }
}

/// BLAKE2b with a secret key (RFC 7693), 32 bytes long: a message authentication code.
public struct KeyedHash: Sendable {
  /// A digest: 32 bytes.
  public typealias Digest = Digest256<KeyedHash>

  private let key: [UInt8]

  /// Makes the function of a key.
  ///
  /// - Parameter key: 16 to 64 secret bytes.
  public init(key: [UInt8]) {
    precondition((16...64).contains(key.count), "a key has 16 to 64 bytes")
    self.key = key
  }

  /// Hashes parts such that no other division of the same bytes gives the same digest.
  ///
  /// - Parameter parts: any number of byte strings, each of which is hashed behind its length in eight bytes,
  ///   little-endian.
  public func hash(_ parts: [UInt8]...) -> Digest {
    var message: [UInt8] = []
    message.reserveCapacity(parts.reduce(0) { $0 + $1.count + 8 })
    for part in parts {
      let length = UInt64(part.count).littleEndian
      unsafe withUnsafeBytes(of: length) { unsafe message.append(contentsOf: $0) }
      message += part
    }
    defer { wipe(&message) }
    var digest = Digest()
    // It fails for sizes out of range only.
    unsafe digest.withMutablePointer {
      _ = unsafe crypto_generichash(
        $0, Digest.byteCount, message, UInt64(message.count), key, key.count)
    }
    return digest
  }
}

/// A digest of 32 bytes that one algorithm makes: those of different algorithms are different types.
public struct Digest256<Algorithm>: FixedBytes {
  var words = FourWords()

  /// Makes a digest of 32 zero bytes.
  public init() {}
}

/// HKDF with SHA-256 (RFC 5869), extract and expand.
public enum HKDF {
  /// Derives a key.
  ///
  /// - Parameter count: the length of the key in bytes, up to 8,160.
  /// - Returns: the key, or nil if OpenSSL fails.
  public static func derive(
    from secret: [UInt8], salt: [UInt8], info: [UInt8], count: Int
  ) -> [UInt8]? {
    defer { ERR_clear_error() }
    let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var key = [UInt8](repeating: 0, count: count)
    var length = count
    guard unsafe EVP_PKEY_derive_init(context) == 1,
      unsafe EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1,
      unsafe EVP_PKEY_CTX_set1_hkdf_salt(context, salt, CInt(clamping: salt.count)) == 1,
      unsafe EVP_PKEY_CTX_set1_hkdf_key(context, secret, CInt(clamping: secret.count)) == 1,
      unsafe EVP_PKEY_CTX_add1_hkdf_info(context, info, CInt(clamping: info.count)) == 1,
      unsafe EVP_PKEY_derive(context, &key, &length) == 1, length == count
    else { return nil }
    return key
  }
}
