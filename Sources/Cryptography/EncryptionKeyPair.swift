internal import CSodium

/// An X25519 key pair for ``BoxKey`` and ``SealedBox``.
public struct EncryptionKeyPair: Sendable {
  /// The public half.
  public let publicKey: EncryptionPublicKey
  let secret: SecretMemory

  /// Makes a new pair.
  ///
  /// - Parameter lifetime: decides in what memory the secret half is kept.
  public static func generate(for lifetime: KeyLifetime = .longTerm) -> EncryptionKeyPair {
    EncryptionKeyPair(
      unsafe SecretMemory(count: Int(crypto_box_SECRETKEYBYTES), for: lifetime) { memory in
        unsafe randombytes_buf(memory, Int(crypto_box_SECRETKEYBYTES))
      })
  }

  /// Makes the pair of a secret half, from which the public one follows.
  ///
  /// - Parameters:
  ///   - secret: 32 bytes. They are copied: ``wipe(_:)`` the original.
  ///   - lifetime: decides in what memory the copy is kept.
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
