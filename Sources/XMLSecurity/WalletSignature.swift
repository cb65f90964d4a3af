internal import COpenSSL
internal import Cryptography

extension PrivateKey {
  /// Signs a message as wallets do: as an Ethereum personal message (EIP-191, version 0x45), with S in the lower half and a
  /// 65th byte, 27 or 28, that tells which of two keys has signed.
  ///
  /// - Parameter message: the message.
  /// - Returns: the 65 bytes; for keys of other kinds as ``sign(message:)``.
  /// - Throws: ``SigningError`` if OpenSSL fails.
  public func walletSignature(of message: [UInt8]) throws(SigningError) -> [UInt8] {
    let signature = try sign(message: message)
    guard publicKey.kind == .secp256k1 else { return signature }
    let digest = publicKey.kind.digest(of: message)
    guard let point = publicKey.handle.point,
      let whole = Self.withMark(signature, digest, point)
    else { throw SigningError("the message can't be signed") }
    return whole
  }

  /// Puts S into the lower half, and adds the byte that tells whether the point R of the signature has an odd Y.
  private static func withMark(
    _ signature: [UInt8], _ digest: [UInt8], _ key: [UInt8]
  ) -> [UInt8]? {
    let group = unsafe EC_GROUP_new_by_curve_name(NID_secp256k1)
    let (point, left, right) = unsafe (
      EC_POINT_new(group), EC_POINT_new(group), EC_POINT_new(group)
    )
    let (hash, r) = unsafe (BN_bin2bn(digest, 32, nil), BN_bin2bn(signature, 32, nil))
    let (s, negative) = unsafe (BN_bin2bn(Array(signature[32...]), 32, nil), BN_new())
    defer {
      unsafe [hash, r, s, negative].forEach { unsafe BN_free($0) }
      unsafe [point, left, right].forEach { unsafe EC_POINT_free($0) }
      unsafe EC_GROUP_free(group)
      ERR_clear_error()
    }
    guard let order = unsafe EC_GROUP_get0_order(group), unsafe negative != nil,
      unsafe BN_sub(negative, order, s) == 1
    else { return nil }
    // Of S and its negative the smaller one.
    if unsafe BN_cmp(s, negative) > 0 { unsafe BN_swap(s, negative) }
    var half = [UInt8](repeating: 0, count: 32)
    // A signature holds if s · R = hash · G + r · key. The point with R's X and an even Y is R or its negative.
    guard unsafe EC_POINT_oct2point(group, point, key, key.count, nil) == 1,
      unsafe EC_POINT_mul(group, left, hash, point, r, nil) == 1,
      unsafe EC_POINT_oct2point(group, point, [2] + signature[..<32], 33, nil) == 1,
      unsafe EC_POINT_mul(group, right, nil, point, s, nil) == 1,
      unsafe BN_bn2binpad(s, &half, 32) == 32
    else { return nil }
    return signature[..<32] + half + [unsafe EC_POINT_cmp(group, left, right, nil) == 0 ? 27 : 28]
  }
}
