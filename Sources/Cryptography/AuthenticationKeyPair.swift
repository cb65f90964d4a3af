internal import CSodium

/// An Ed25519 key pair for signatures.
public struct AuthenticationKeyPair: Sendable {
  /// The public half.
  public let publicKey: AuthenticationPublicKey
  /// The seed, and the public key after it.
  private let secret: SecretMemory

  /// Makes a new pair.
  ///
  /// - Parameter lifetime: decides in what memory the secret half is kept.
  public static func generate(for lifetime: KeyLifetime = .longTerm) -> AuthenticationKeyPair {
    let seed = unsafe SecretMemory(count: Int(crypto_sign_SEEDBYTES), for: .session) { memory in
      unsafe randombytes_buf(memory, Int(crypto_sign_SEEDBYTES))
    }
    return unsafe seed.withPointer { unsafe AuthenticationKeyPair(seed: $0, for: lifetime) }
  }

  /// Makes the pair of a seed, from which both halves follow.
  ///
  /// - Parameters:
  ///   - seed: 32 secret bytes. They are copied: ``wipe(_:)`` the original.
  ///   - lifetime: decides in what memory the copy is kept.
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
