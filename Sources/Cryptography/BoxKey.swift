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
  /// - Parameters:
  ///   - own: the own pair.
  ///   - peer: the other side's public key.
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

  /// Takes a key that was agreed on in another way.
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
  ///   - passphrase: the passphrase.
  ///   - salt: random bytes.
  ///   - iterations: the price of each guess, at least 1.
  /// - Returns: the key, or nil if OpenSSL fails.
  public init?(passphrase: String, salt: [UInt8], iterations: UInt32) {
    var isDerived = false
    key = unsafe SecretMemory(count: Int(crypto_box_BEFORENMBYTES), for: .session) { memory in
      let (count, length) = (CInt(clamping: passphrase.utf8.count), CInt(clamping: salt.count))
      let times = CInt(clamping: iterations)
      isDerived =
        unsafe PKCS5_PBKDF2_HMAC(
          passphrase, count, salt, length, times, EVP_sha512(), CInt(crypto_box_BEFORENMBYTES),
          memory) == 1
    }
    guard isDerived else { return nil }
  }

  /// Takes 32 bytes of a secret digest as a key, for `crypto_secretbox_easy`: a box is one once its key is agreed on.
  ///
  /// - Parameters:
  ///   - digest: the digest.
  ///   - offset: the offset of the key's first byte; all of them lie in the digest.
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
  /// - Parameters:
  ///   - box: the tag and the ciphertext.
  ///   - nonce: the nonce that the box was sealed with.
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
