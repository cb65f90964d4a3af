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
    let numbers = unsafe BN_CTX_new()
    let (point, sum) = unsafe (EC_POINT_new(group), EC_POINT_new(group))
    let s = unsafe BN_bin2bn(Array(signature[32...]), 32, nil)
    let (hash, r) = unsafe (BN_bin2bn(digest, 32, nil), BN_bin2bn(signature, 32, nil))
    let (inverse, y) = unsafe (BN_new(), BN_new())
    defer {
      unsafe [s, hash, r, inverse, y].forEach { unsafe BN_free($0) }
      unsafe EC_POINT_free(point)
      unsafe EC_POINT_free(sum)
      unsafe BN_CTX_free(numbers)
      unsafe EC_GROUP_free(group)
      ERR_clear_error()
    }
    guard let order = unsafe EC_GROUP_get0_order(group), unsafe inverse != nil, unsafe y != nil,
      unsafe EC_POINT_oct2point(group, point, key, key.count, numbers) == 1
    else { return nil }
    // Of S and its negative the smaller one.
    guard unsafe BN_sub(y, order, s) == 1 else { return nil }
    if unsafe BN_cmp(s, y) > 0, unsafe BN_copy(s, y) == nil { return nil }
    // R = (hash · G + r · key) / s, as a verification computes it.
    guard unsafe BN_mod_inverse(inverse, s, order, numbers) != nil,
      unsafe BN_mod_mul(hash, hash, inverse, order, numbers) == 1,
      unsafe BN_mod_mul(r, r, inverse, order, numbers) == 1,
      unsafe EC_POINT_mul(group, sum, hash, point, r, numbers) == 1,
      unsafe EC_POINT_get_affine_coordinates(group, sum, nil, y, numbers) == 1
    else { return nil }
    var half = [UInt8](repeating: 0, count: 32)
    guard unsafe BN_bn2binpad(s, &half, 32) == 32 else { return nil }
    return signature[..<32] + half + [unsafe BN_is_odd(y) == 1 ? 28 : 27]
  }
}
