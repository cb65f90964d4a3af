internal import CSodium

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
