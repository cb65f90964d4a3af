internal import CSecp256k1
internal import Cryptography

/// A wallet's signature of a personal message (EIP-191, version 0x45): R and S on secp256k1, 32 bytes each, and a byte that
/// tells which of the possible keys has signed.
public enum WalletSignature {
  /// The number of bytes of a signature.
  public static let length = 65

  /// Hashes a personal message.
  public static func hash(_ message: [UInt8]) -> [UInt8] {
    Keccak256.hash(Array("\u{19}Ethereum Signed Message:\n\(message.count)".utf8) + message).bytes
  }

  /// Recovers the address whose key has signed.
  ///
  /// - Parameters:
  ///   - signature: the signature, whose last byte is 27, 28, 0 or 1.
  /// - Returns: nil if this is a signature of no key.
  public static func signer(of hash: [UInt8], _ signature: [UInt8]) -> EthereumAddress? {
    guard signature.count == length, hash.count == 32, let last = signature.last,
      [0, 1, 27, 28].contains(last)
    else { return nil }
    var point = [UInt8](repeating: 0, count: 65)
    guard unsafe csecp256k1_recover(&point, signature, CInt(last % 27), hash) == 1 else {
      return nil
    }
    return EthereumAddress(publicKey: point)
  }

  /// Signs the hash of a message.
  ///
  /// - Parameters:
  ///   - hash: 32 bytes.
  ///   - secret: the key's number, 32 bytes big-endian.
  /// - Returns: nil if the number is no key's.
  public static func sign(_ hash: [UInt8], with secret: [UInt8]) -> [UInt8]? {
    var signature = [UInt8](repeating: 0, count: length)
    guard hash.count == 32, secret.count == 32,
      unsafe csecp256k1_sign(&signature, hash, secret) == 1
    else { return nil }
    return signature
  }

  /// Returns whether 32 bytes are the number of a key: neither zero, nor the curve's order or above.
  public static func isSecret(_ secret: [UInt8]) -> Bool {
    // Nothing is signed with any other number.
    sign([UInt8](repeating: 1, count: 32), with: secret) != nil
  }
}
