internal import CSodium
internal import Glibc

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
