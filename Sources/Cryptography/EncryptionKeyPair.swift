internal import CSodium

/// An X25519 key pair for ``BoxKey`` and ``SealedBox``.
public struct EncryptionKeyPair: Sendable {
  /// The half that everyone may know.
  public let publicKey: EncryptionPublicKey
  let secret: SecretMemory

  /// Makes a new pair.
  ///
  /// - Parameter lifetime: where the secret half is kept.
  public static func generate(for lifetime: KeyLifetime = .longTerm) -> EncryptionKeyPair {
    EncryptionKeyPair(
      unsafe SecretMemory(count: Int(crypto_box_SECRETKEYBYTES), for: lifetime) { memory in
        unsafe randombytes_buf(memory, Int(crypto_box_SECRETKEYBYTES))
      })
  }

  /// Takes the secret half; the public one follows from it.
  ///
  /// - Parameters:
  ///   - secret: exactly 32 bytes; nil for any other number. Copied: ``wipe(_:)`` the original.
  ///   - lifetime: where the copy is kept.
  public init?(secret: [UInt8], for lifetime: KeyLifetime = .longTerm) {
    guard secret.count == Int(crypto_box_SECRETKEYBYTES) else { return nil }
    self.init(SecretMemory(secret, for: lifetime))
  }

  private init(_ secret: SecretMemory) {
    var key = EncryptionPublicKey()
    // It has no way to fail.
    _ = unsafe key.withMutablePointer { key in
      unsafe secret.withPointer { unsafe crypto_scalarmult_base(key, $0) }
    }
    publicKey = key
    self.secret = secret
  }

  /// Lends the secret half, to be written to a file that only its owner reads.
  ///
  /// - Parameter body: gets 32 bytes, which are wiped when it returns unless it keeps them.
  public func withSecret<Result, Failure: Error>(
    _ body: ([UInt8]) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try secret.withCopy(body)
  }
}
