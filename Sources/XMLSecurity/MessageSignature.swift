internal import COpenSSL
internal import Cryptography
internal import Ethereum

// Signatures of messages that are no documents: RSA with PKCS #1 v1.5 and SHA-256; ECDSA with SHA-256 as R and S, of the
// curve's size each; on secp256k1 Ethereum's personal messages (EIP-191, version 0x45).
extension PublicKey {
  /// Returns whether a signature of a message was made with this key.
  ///
  /// - Parameters:
  ///   - signature: the signature; on secp256k1 a 65th byte, which helps to recover the key, is ignored.
  public func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    defer { ERR_clear_error() }
    guard kind != .rsa else { return verifiesRSA(signature, of: message) }
    let size = kind.coordinateSize
    let hasMark = kind == .secp256k1 && signature.count == 2 * size + 1
    guard hasMark || signature.count == 2 * size,
      let encoded = Self.der(signature[..<size], signature[size..<2 * size]),
      let context = unsafe EVP_PKEY_CTX_new(handle.pointer, nil)
    else { return false }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    let digest = kind.digest(of: message)
    return unsafe EVP_PKEY_verify_init(context) == 1
      && EVP_PKEY_verify(context, encoded, encoded.count, digest, digest.count) == 1
  }

  private func verifiesRSA(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle.pointer) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  /// Encodes the two numbers of an ECDSA signature in ASN.1.
  private static func der(_ r: ArraySlice<UInt8>, _ s: ArraySlice<UInt8>) -> [UInt8]? {
    guard let signature = unsafe ECDSA_SIG_new() else { return nil }
    defer { unsafe ECDSA_SIG_free(signature) }
    let first = unsafe BN_bin2bn(Array(r), Int32(r.count), nil)
    let second = unsafe BN_bin2bn(Array(s), Int32(s.count), nil)
    guard unsafe ECDSA_SIG_set0(signature, first, second) == 1 else {
      unsafe BN_free(first)
      unsafe BN_free(second)
      return nil
    }
    return unsafe derEncoded { unsafe i2d_ECDSA_SIG(signature, $0) }
  }
}

extension PrivateKey {
  /// Signs a message so that ``PublicKey/verifies(_:of:)`` holds.
  ///
  /// - Returns: the signature; on secp256k1 as wallets make it, with S in the lower half and a 65th byte, 27 or 28, that
  ///   tells which of two keys has signed.
  /// - Throws: ``SigningError`` if the key can't sign.
  public func sign(message: [UInt8]) throws(SigningError) -> [UInt8] {
    defer { ERR_clear_error() }
    let kind = publicKey.kind
    let signature: [UInt8]? =
      switch kind {
      case .rsa: rsaSignature(of: message)
      case .secp256k1: walletSignature(of: message)
      default: handle.ecdsaSignature(of: kind.digest(of: message), size: kind.coordinateSize)
      }
    guard let signature else { throw SigningError("the message can't be signed") }
    return signature
  }

  private func walletSignature(of message: [UInt8]) -> [UInt8]? {
    guard var secret = handle.number(OSSL_PKEY_PARAM_PRIV_KEY, length: 32) else { return nil }
    defer { wipe(&secret) }
    return WalletSignature.sign(WalletSignature.hash(message), with: secret)
  }

  private func rsaSignature(of message: [UInt8]) -> [UInt8]? {
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var length = (handle.bits + 7) / 8
    var signature = [UInt8](repeating: 0, count: length)
    guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle.pointer) == 1,
      unsafe EVP_DigestSign(context, &signature, &length, message, message.count) == 1
    else { return nil }
    return Array(signature.prefix(length))
  }
}

extension PublicKey.Kind {
  /// Hashes a message for ECDSA on a curve.
  func digest(of message: [UInt8]) -> [UInt8] {
    self == .secp256k1 ? WalletSignature.hash(message) : SHA256.hash(message).bytes
  }
}
