internal import COpenSSL
internal import CSodium

/// The key on which two key pairs agree, for sealing and opening boxes (NaCl's `crypto_box_beforenm`). Agreeing is the
/// expensive half of a box, and is done once.
///
/// A key lasts as long as a connection and there are many, so it lies in ordinary memory that is wiped on release
/// (``KeyLifetime/session``).
public struct BoxKey: Sendable {
  /// The bytes by which a box is longer than its message: the Poly1305 tag in front.
  public static let tagLength = 16

  private let key: SecretMemory

  /// Agrees on a key, which is the same on either side.
  ///
  /// - Returns: the key, or nil if the other side's is of low order.
  public init?(own: EncryptionKeyPair, peer: EncryptionPublicKey) {
    var isAgreed = false
    key = unsafe SecretMemory(count: Int(crypto_box_BEFORENMBYTES), for: .session) { memory in
      isAgreed =
        unsafe peer.withPointer { peer in
          unsafe own.secret.withPointer { unsafe crypto_box_beforenm(memory, peer, $0) }
        } == 0
    }
    guard isAgreed else { return nil }
  }

  /// Makes a box key from one that was agreed on in another way.
  ///
  /// - Parameter key: 32 secret bytes. They are copied: ``wipe(_:)`` the original.
  /// - Returns: the key, or nil for any other number of bytes.
  public init?(_ key: [UInt8]) {
    guard key.count == Int(crypto_box_BEFORENMBYTES) else { return nil }
    self.key = SecretMemory(key, for: .session)
  }

  /// Derives a key from a passphrase (PBKDF2 with HMAC and SHA-512, RFC 8018 section 5.2), which takes a second for a million
  /// iterations.
  ///
  /// - Parameters:
  ///   - salt: random bytes.
  ///   - iterations: the price of each guess, at least 1.
  /// - Returns: the key, or nil if OpenSSL fails.
  public init?(passphrase: String, salt: [UInt8], iterations: UInt32) {
    var isDerived = false
    key = unsafe SecretMemory(count: Int(crypto_box_BEFORENMBYTES), for: .session) { memory in
      let count = CInt(clamping: passphrase.utf8.count)
      let length = CInt(clamping: salt.count)
      let times = CInt(clamping: iterations)
      isDerived =
        unsafe PKCS5_PBKDF2_HMAC(
          passphrase, count, salt, length, times, EVP_sha512(), CInt(crypto_box_BEFORENMBYTES),
          memory) == 1
    }
    guard isDerived else { return nil }
  }

  /// Makes a key from 32 bytes of a secret digest. `crypto_secretbox_easy` makes the same boxes as `crypto_box_easy` once
  /// the key is agreed on.
  ///
  /// - Parameter offset: the offset of the key's first byte; all of them lie in the digest.
  public init(_ digest: SecretDigest, at offset: Int) { key = digest.secret(at: offset) }

  /// Seals a message.
  ///
  /// - Parameters:
  ///   - message: any number of bytes.
  ///   - nonce: a nonce that was never used with this key before.
  /// - Returns: the tag and the ciphertext, ``tagLength`` bytes longer than the message.
  public func seal(_ message: ArraySlice<UInt8>, nonce: BoxNonce) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: message.count + Self.tagLength) { box, count in
      count = message.count + Self.tagLength
      if let box = box.baseAddress {
        unsafe message.withUnsafeBufferPointer { message in
          unsafe seal(message.baseAddress, count: message.count, nonce: nonce, to: box)
        }
      }
    }
  }

  /// Seals a message, as ``seal(_:nonce:)`` seals a slice.
  public func seal(_ message: [UInt8], nonce: BoxNonce) -> [UInt8] {
    seal(message[...], nonce: nonce)
  }

  /// Seals a message in place, within a larger buffer.
  ///
  /// - Parameters:
  ///   - range: the place of the box in `buffer`: ``tagLength`` bytes of any content for the tag, and behind them the
  ///     message.
  ///   - buffer: the buffer, which stays as it is outside the range.
  ///   - nonce: a nonce that was never used with this key before.
  public func seal(_ range: Range<Int>, of buffer: inout [UInt8], nonce: BoxNonce) {
    precondition(
      range.count >= Self.tagLength && range.lowerBound >= 0 && range.upperBound <= buffer.count,
      "a box lies in its buffer, with room for the tag")
    unsafe buffer.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      let box = unsafe start + range.lowerBound
      unsafe seal(box + Self.tagLength, count: range.count - Self.tagLength, nonce: nonce, to: box)
    }
  }

  private func seal(
    _ message: UnsafePointer<UInt8>?, count: Int, nonce: BoxNonce,
    to box: UnsafeMutablePointer<UInt8>
  ) {
    // It fails for messages of exabytes only.
    _ = unsafe nonce.withPointer { nonce in
      unsafe key.withPointer {
        unsafe crypto_box_easy_afternm(box, message, UInt64(count), nonce, $0)
      }
    }
  }

  /// Opens a box.
  ///
  /// - Parameter nonce: the nonce that the box was sealed with.
  /// - Returns: the message, or nil if the box is none of this key and nonce, or was changed.
  public func open(_ box: ArraySlice<UInt8>, nonce: BoxNonce) -> [UInt8]? {
    guard box.count >= Self.tagLength else { return nil }
    var isGenuine = false
    let message = unsafe [UInt8](
      unsafeUninitializedCapacity: box.count - Self.tagLength
    ) { message, count in
      unsafe box.withUnsafeBufferPointer { box in
        guard let start = box.baseAddress else { return }
        isGenuine =
          unsafe nonce.withPointer { nonce in
            unsafe key.withPointer { key in
              unsafe crypto_box_open_easy_afternm(
                message.baseAddress, start, UInt64(box.count), nonce, key)
            }
          } == 0
      }
      count = isGenuine ? box.count - Self.tagLength : 0
    }
    return isGenuine ? message : nil
  }

  /// Opens a box, as ``open(_:nonce:)`` opens a slice.
  public func open(_ box: [UInt8], nonce: BoxNonce) -> [UInt8]? { open(box[...], nonce: nonce) }
}

/// The nonce of a box: 24 bytes that are never used twice with one key.
public struct BoxNonce: FixedBytes {
  private var first: UInt64 = 0
  private var second: UInt64 = 0
  private var third: UInt64 = 0

  /// Makes a nonce of 24 zero bytes.
  public init() {}

  /// Makes a nonce of the first 24 bytes of a signature.
  public init(prefixOf signature: Signature) {
    self = unsafe Swift.withUnsafeBytes(of: signature) { unsafe $0.load(as: BoxNonce.self) }
  }

  /// Makes a nonce of a counter behind 16 zero bytes.
  ///
  /// - Parameter counter: the value of the last eight bytes, big-endian.
  public init(counter: UInt64) { third = counter.bigEndian }

  /// Returns the same nonce with other bytes at its end.
  ///
  /// - Parameter counter: the value of the last two bytes, big-endian.
  public func ending(in counter: UInt16) -> BoxNonce {
    var nonce = self
    nonce.third = (third.bigEndian & ~0xffff | UInt64(counter)).bigEndian
    return nonce
  }
}

/// Boxes from an anonymous sender (libsodium's `crypto_box_seal`), with an ephemeral key and a nonce that follows
/// from it.
public enum SealedBox {
  /// The bytes by which a box is longer than its message: the ephemeral key and the tag.
  public static let overhead = Int(crypto_box_PUBLICKEYBYTES + crypto_box_MACBYTES)

  /// Seals a message.
  ///
  /// - Parameter message: any number of bytes.
  /// - Returns: a box that is ``overhead`` bytes longer, or nil if the key is of low order.
  public static func seal(_ message: [UInt8], to key: EncryptionPublicKey) -> [UInt8]? {
    precondition(Sodium.isStarted, "the system has no source of randomness")
    var box = [UInt8](repeating: 0, count: message.count + overhead)
    let result = unsafe key.withPointer {
      unsafe crypto_box_seal(&box, message, UInt64(message.count), $0)
    }
    return result == 0 ? box : nil
  }

  /// Opens a box.
  ///
  /// - Returns: the message, or nil if the box wasn't sealed to this pair, or was changed.
  public static func open(_ box: [UInt8], with pair: EncryptionKeyPair) -> [UInt8]? {
    guard box.count >= overhead else { return nil }
    var message = [UInt8](repeating: 0, count: box.count - overhead)
    let result = unsafe pair.publicKey.withPointer { key in
      unsafe pair.secret.withPointer {
        unsafe crypto_box_seal_open(&message, box, UInt64(box.count), key, $0)
      }
    }
    return result == 0 ? message : nil
  }
}

/// A key that seals secrets for storage (libsodium's `crypto_secretbox_easy`), each with a random nonce in front. The
/// key itself is stored elsewhere.
public struct SecretBox: Sendable {
  /// The bytes by which a box is longer than its message: the nonce and the tag.
  public static let overhead = Int(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES)

  private let key: SecretMemory

  /// Makes a new key.
  public init() {
    key = unsafe SecretMemory(count: Int(crypto_secretbox_KEYBYTES), for: .longTerm) { memory in
      unsafe randombytes_buf(memory, Int(crypto_secretbox_KEYBYTES))
    }
  }

  /// Makes a box from a stored key.
  ///
  /// - Parameter key: 32 secret bytes. They are copied: ``wipe(_:)`` the original.
  /// - Returns: the key, or nil for any other number of bytes.
  public init?(key: [UInt8]) {
    guard key.count == Int(crypto_secretbox_KEYBYTES) else { return nil }
    self.key = SecretMemory(key, for: .longTerm)
  }

  /// Calls a closure with the key, to be written to a file that only its owner reads.
  ///
  /// - Parameter body: gets 32 bytes, which are wiped when it returns unless it keeps them.
  /// - Returns: the closure's result.
  public func withKey<Result, Failure: Error>(
    _ body: ([UInt8]) throws(Failure) -> Result
  ) throws(Failure) -> Result { try key.withCopy(body) }

  /// Seals a message.
  ///
  /// - Returns: 24 random bytes, the tag and the ciphertext: ``overhead`` bytes more.
  public func seal(_ message: [UInt8]) -> [UInt8] {
    let nonceLength = Int(crypto_secretbox_NONCEBYTES)
    var box = [UInt8](repeating: 0, count: message.count + Self.overhead)
    unsafe box.withUnsafeMutableBufferPointer { box in
      guard let start = box.baseAddress else { return }
      unsafe randombytes_buf(start, nonceLength)
      // It fails for messages of exabytes only.
      _ = unsafe key.withPointer {
        unsafe crypto_secretbox_easy(start + nonceLength, message, UInt64(message.count), start, $0)
      }
    }
    return box
  }

  /// Opens a box.
  ///
  /// - Returns: the message, or nil if the box wasn't sealed with this key, or was changed.
  public func open(_ box: [UInt8]) -> [UInt8]? {
    guard box.count >= Self.overhead else { return nil }
    let nonceLength = Int(crypto_secretbox_NONCEBYTES)
    var message = [UInt8](repeating: 0, count: box.count - Self.overhead)
    let result = unsafe box.withUnsafeBufferPointer { box in
      guard let start = box.baseAddress else { return Int32(-1) }
      return unsafe key.withPointer {
        unsafe crypto_secretbox_open_easy(
          &message, start + nonceLength, UInt64(box.count - nonceLength), start, $0)
      }
    }
    return result == 0 ? message : nil
  }
}

/// AES with 128-bit keys in Galois/Counter mode (NIST SP 800-38D).
public enum AES128GCM {
  /// The length of a key, in bytes.
  public static let keyLength = 16
  /// The length of a nonce, in bytes.
  public static let nonceLength = 12
  /// The bytes by which a sealed message is longer.
  public static let tagLength = 16

  /// Seals a message.
  ///
  /// - Parameters:
  ///   - key: ``keyLength`` bytes.
  ///   - nonce: ``nonceLength`` bytes, never used twice with a key.
  /// - Returns: the sealed message with the tag behind it; nil if a length is wrong or OpenSSL fails.
  public static func seal(_ message: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
    guard key.count == keyLength, nonce.count == nonceLength else { return nil }
    defer { ERR_clear_error() }
    let context = unsafe EVP_CIPHER_CTX_new()
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    var sealed = [UInt8](repeating: 0, count: message.count)
    var tag = [UInt8](repeating: 0, count: tagLength)
    var length: CInt = 0
    var last: CInt = 0
    guard unsafe EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
      unsafe EVP_EncryptUpdate(
        context, &sealed, &length, message, CInt(clamping: message.count)) == 1,
      Int(length) == message.count,
      // The mode gives its last bytes at once: nothing is written here.
      unsafe EVP_EncryptFinal_ex(context, &tag, &last) == 1, last == 0,
      unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(tagLength), &tag) == 1
    else { return nil }
    return sealed + tag
  }
}
