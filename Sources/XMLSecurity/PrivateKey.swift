internal import COpenSSL
internal import Cryptography
internal import Ethereum

/// A private key that signs: RSA of at least 2048 bits, P-256, P-384, P-521 or secp256k1.
public struct PrivateKey: Sendable {
  /// The public half of the key.
  public let publicKey: PublicKey
  /// The key as OpenSSL signs with it.
  let handle: EVPKey

  /// Reads a key file: PEM, or a key on secp256k1 as 64 hexadecimal digits, as the official tool writes it.
  ///
  /// - Throws: ``SigningError``, whose words never repeat the key.
  public init(file: [UInt8]) throws(SigningError) {
    if let key = try Self.hexadecimalKey(in: file) {
      try self.init(key)
    } else {
      try self.init(pem: file)
    }
  }

  /// Reads a key in PEM.
  ///
  /// - Throws: ``SigningError``.
  public init(pem: [UInt8]) throws(SigningError) {
    guard let key = try? PEM.privateKey(in: pem) else {
      throw SigningError("no private key in the PEM text, or an encrypted one")
    }
    try self.init(key)
  }

  private init(_ key: EVPKey) throws(SigningError) {
    // Read anew, so that a public key never carries the private half.
    guard
      let publicKey = key.subjectPublicKeyInfo.flatMap(EVPKey.init(subjectPublicKeyInfo:))
        .flatMap(PublicKey.init)
    else {
      throw SigningError(
        "the key must be RSA of at least 2048 bits, P-256, P-384, P-521 or secp256k1")
    }
    self.publicKey = publicKey
    handle = key
  }

  // MARK: - Hexadecimal digits

  /// Reads hexadecimal digits, in either case, with or without `0x`, and blanks at both ends.
  ///
  /// - Returns: nil for a text that isn't made of such digits.
  private static func hexadecimalKey(in file: [UInt8]) throws(SigningError) -> EVPKey? {
    let isBlank: (UInt8) -> Bool = { [0x20, 0x09, 0x0d, 0x0a].contains($0) }
    guard let first = file.firstIndex(where: { !isBlank($0) }),
      let last = file.lastIndex(where: { !isBlank($0) })
    else { return nil }
    var digits = file[first...last]
    if digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8) {
      digits = digits.dropFirst(2)
    }
    let isDigit: (UInt8) -> Bool = { Character(UnicodeScalar($0)).isHexDigit && $0 < 0x80 }
    guard digits.allSatisfy(isDigit) else { return nil }
    guard digits.count == 64, var secret = Hex.decode(digits) else {
      throw SigningError(
        "a key in hexadecimal digits has 64 of them, and this one has \(digits.count)")
    }
    defer { wipe(&secret) }
    guard WalletSignature.isSecret(secret), let key = key(onSecp256k1: secret) else {
      throw SigningError("the number is no key on secp256k1: it is zero, or not below the order")
    }
    return key
  }

  /// Makes the key of a number by its encoding (RFC 5915), to which OpenSSL adds the public half.
  private static func key(onSecp256k1 secret: [UInt8]) -> EVPKey? {
    defer { ERR_clear_error() }
    guard let curve = PublicKey.Kind.secp256k1.curve?.der else { return nil }
    let parameters: [UInt8] = [0xa0, UInt8(curve.count)] + curve
    let content: [UInt8] = [0x02, 0x01, 0x01, 0x04, 0x20] + secret + parameters
    var der: [UInt8] = [0x30, UInt8(content.count)] + content
    defer { wipe(&der) }
    return unsafe der.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      return unsafe EVPKey(adopting: d2i_PrivateKey(EVP_PKEY_EC, nil, &start, buffer.count))
    }
  }
}

/// The reason why something can't be signed.
public struct SigningError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason in words.
  public let description: String

  init(_ description: String) { self.description = description }
}
