internal import CSodium
internal import Glibc

/// An Ed25519 key pair for signatures.
public struct AuthenticationKeyPair: Sendable {
  /// The public half.
  public let publicKey: AuthenticationPublicKey
  /// The seed, and the public key after it.
  private let secret: SecretMemory

  /// Makes a new pair.
  public static func generate(for lifetime: KeyLifetime = .longTerm) -> AuthenticationKeyPair {
    let seed = unsafe SecretMemory(count: Int(crypto_sign_SEEDBYTES), for: .session) { memory in
      unsafe randombytes_buf(memory, Int(crypto_sign_SEEDBYTES))
    }
    return unsafe seed.withPointer { unsafe AuthenticationKeyPair(seed: $0, for: lifetime) }
  }

  /// Makes the pair of a seed, from which both halves follow.
  ///
  /// - Parameter seed: 32 secret bytes. They are copied: ``wipe(_:)`` the original.
  /// - Returns: the pair, or nil for any other number of bytes.
  public init?(seed: [UInt8], for lifetime: KeyLifetime = .longTerm) {
    guard seed.count == Int(crypto_sign_SEEDBYTES) else { return nil }
    self = unsafe AuthenticationKeyPair(seed: seed, for: lifetime)
  }

  private init(seed: UnsafePointer<UInt8>, for lifetime: KeyLifetime) {
    var key = AuthenticationPublicKey()
    secret = unsafe SecretMemory(count: Int(crypto_sign_SECRETKEYBYTES), for: lifetime) { memory in
      // It has no way to fail.
      _ = unsafe key.withMutablePointer { unsafe crypto_sign_seed_keypair($0, memory, seed) }
    }
    publicKey = key
  }

  /// Signs a message.
  ///
  /// - Parameter message: any number of bytes.
  public func sign(_ message: [UInt8]) -> Signature { unsafe sign(message, count: message.count) }

  /// Signs the bytes of a value.
  public func sign(_ value: some FixedBytes) -> Signature {
    unsafe value.withPointer { unsafe sign($0, count: type(of: value).byteCount) }
  }

  private func sign(_ message: UnsafePointer<UInt8>, count: Int) -> Signature {
    var signature = Signature()
    // It has no way to fail.
    _ = unsafe signature.withMutablePointer { signature in
      unsafe secret.withPointer {
        unsafe crypto_sign_detached(signature, nil, message, UInt64(count), $0)
      }
    }
    return signature
  }

  /// Calls a closure with the seed, to be written to a file that only its owner reads.
  ///
  /// - Parameter body: gets 32 bytes, which are wiped when it returns unless it keeps them.
  /// - Returns: the closure's result.
  public func withSeed<Result, Failure: Error>(
    _ body: ([UInt8]) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try secret.withCopy { secret throws(Failure) in
      var seed = [UInt8](secret.prefix(Int(crypto_sign_SEEDBYTES)))
      defer { wipe(&seed) }
      return try body(seed)
    }
  }
}

/// An Ed25519 public key (RFC 8032): 32 bytes.
public struct AuthenticationPublicKey: FixedBytes {
  private var words = FourWords()

  /// Makes a key of 32 zero bytes, which is of low order.
  public init() {}

  /// True if the point is of low order; no signature is valid under such a key.
  public var isLowOrder: Bool { Self.lowOrder.contains(words.point) }

  /// The Y of the points whose order divides 8, and the other ways to write two of them.
  private static let lowOrder = FourWords.lowOrder(
    and: "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")

  /// Returns whether a signature was made over a message with this key's secret half.
  ///
  /// - Parameters:
  ///   - signature: detached, 64 bytes.
  ///   - message: any number of bytes.
  public func verifies(_ signature: Signature, over message: [UInt8]) -> Bool {
    unsafe verifies(signature, over: message, count: message.count)
  }

  /// Returns whether a signature was made over a value's bytes with this key's secret half.
  public func verifies(_ signature: Signature, over value: some FixedBytes) -> Bool {
    unsafe value.withPointer {
      unsafe verifies(signature, over: $0, count: type(of: value).byteCount)
    }
  }

  private func verifies(
    _ signature: Signature, over message: UnsafePointer<UInt8>, count: Int
  ) -> Bool {
    unsafe signature.withPointer { signature in
      unsafe withPointer { key in
        unsafe crypto_sign_verify_detached(signature, message, UInt64(count), key) == 0
      }
    }
  }
}

/// A detached Ed25519 signature (RFC 8032): 64 bytes.
public struct Signature: FixedBytes {
  private var words = EightWords()

  /// Makes a signature of 64 zero bytes, which is valid over nothing.
  public init() {}
}

/// An X25519 key pair for ``BoxKey`` and ``SealedBox``.
public struct EncryptionKeyPair: Sendable {
  /// The public half.
  public let publicKey: EncryptionPublicKey
  let secret: SecretMemory

  /// Makes a new pair.
  public static func generate(for lifetime: KeyLifetime = .longTerm) -> EncryptionKeyPair {
    EncryptionKeyPair(
      unsafe SecretMemory(count: Int(crypto_box_SECRETKEYBYTES), for: lifetime) { memory in
        unsafe randombytes_buf(memory, Int(crypto_box_SECRETKEYBYTES))
      })
  }

  /// Makes the pair of a secret half, from which the public one follows.
  ///
  /// - Parameter secret: 32 bytes. They are copied: ``wipe(_:)`` the original.
  /// - Returns: the pair, or nil for any other number of bytes.
  public init?(secret: [UInt8], for lifetime: KeyLifetime = .longTerm) {
    guard secret.count == Int(crypto_box_SECRETKEYBYTES) else { return nil }
    self.init(SecretMemory(secret, for: lifetime))
  }

  /// Makes the pair whose secret half is the beginning of a secret digest.
  public init(_ digest: SecretDigest) { self.init(digest.secret(at: 0)) }

  private init(_ secret: SecretMemory) {
    var key = EncryptionPublicKey()
    // It has no way to fail.
    _ = unsafe key.withMutablePointer { key in
      unsafe secret.withPointer { unsafe crypto_scalarmult_base(key, $0) }
    }
    publicKey = key
    self.secret = secret
  }

  /// Calls a closure with the secret half, to be written to a file that only its owner reads.
  ///
  /// - Parameter body: gets 32 bytes, which are wiped when it returns unless it keeps them.
  /// - Returns: the closure's result.
  public func withSecret<Result, Failure: Error>(
    _ body: ([UInt8]) throws(Failure) -> Result
  ) throws(Failure) -> Result { try secret.withCopy(body) }
}

/// An X25519 public key (RFC 7748): 32 bytes, ordered as unsigned bytes.
///
/// Any 32 bytes are a key; no secret can be agreed on with those that are ``isLowOrder``.
public struct EncryptionPublicKey: FixedBytes, Comparable {
  private var words = FourWords()

  /// Makes a key of 32 zero bytes, which is of low order.
  public init() {}

  /// True if the point is of low order; everyone would know a secret that is agreed on with it.
  ///
  /// The highest bit is no part of the point. A public key is no secret, so the time may differ.
  public var isLowOrder: Bool { Self.lowOrder.contains(words.point) }

  /// True if this is the canonical form of the point: below 2^255 - 19, and the highest bit zero.
  ///
  /// Other keys agree on the same secrets as a canonical one. No key pair has one of them.
  public var isCanonical: Bool { self == canonical }

  /// The canonical form of the point.
  public var canonical: EncryptionPublicKey {
    var bytes = bytes
    bytes[31] &= 0x7f
    let isPrimeOrMore =
      bytes[31] == 0x7f && bytes[1..<31].allSatisfy { $0 == 0xff } && bytes[0] >= 0xed
    if isPrimeOrMore { bytes = [bytes[0] - 0xed] + [UInt8](repeating: 0, count: 31) }
    return EncryptionPublicKey(bytes) ?? self
  }

  /// The points whose order divides 8, and the other ways to write two of them.
  private static let lowOrder = FourWords.lowOrder(
    and: "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157")

  /// Returns whether the bytes of one key come before those of another, each byte unsigned.
  public static func < (left: EncryptionPublicKey, right: EncryptionPublicKey) -> Bool {
    unsafe left.withPointer { left in
      unsafe right.withPointer { unsafe memcmp(left, $0, byteCount) }
    } < 0
  }
}
