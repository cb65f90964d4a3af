internal import COpenSSL
internal import Cryptography
internal import Ethereum

extension PrivateKey {
  /// Signs a message as wallets do: as an Ethereum personal message (EIP-191, version 0x45), with S in the lower half and a
  /// 65th byte, 27 or 28, that tells which of two keys has signed.
  ///
  /// - Parameter message: the message.
  /// - Returns: the 65 bytes; for keys of other kinds as ``sign(message:)``.
  /// - Throws: ``SigningError`` if the key can't sign.
  public func walletSignature(of message: [UInt8]) throws(SigningError) -> [UInt8] {
    guard publicKey.kind == .secp256k1 else { return try sign(message: message) }
    var secret = handle.number(OSSL_PKEY_PARAM_PRIV_KEY, length: 32) ?? []
    defer { wipe(&secret) }
    guard let signature = WalletSignature.sign(WalletSignature.hash(message), with: secret) else {
      throw SigningError("the message can't be signed")
    }
    return signature
  }
}
