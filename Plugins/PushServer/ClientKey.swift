internal import Cryptography

/// A wallet, by the Ed25519 key that its identifier writes: `z`, which stands for base58btc, and `ed 01` and the key in it.
struct ClientKey: Hashable, Sendable {
  let key: AuthenticationPublicKey
  /// The bytes of the key, by which the store and the outbox know it.
  var bytes: [UInt8] { key.bytes }

  /// The words in front of an identifier that is written as a DID.
  static let method = "did:key:"

  private static let digits = Array(
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".utf8)

  /// Reads an identifier, with or without the words in front; anything else, and another way to write one, gives nil.
  init?(_ text: some StringProtocol) {
    let signs = text.utf8.dropFirst(text.hasPrefix(Self.method) ? Self.method.utf8.count : 0)
    // A 1 in front is a zero byte in front. No 34 bytes take more than 47 digits.
    guard (2...48).contains(signs.count), signs.first == UInt8(ascii: "z"),
      signs.dropFirst().first != UInt8(ascii: "1")
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: 34)
    for sign in signs.dropFirst() {
      guard var carry = Self.digits.firstIndex(of: sign) else { return nil }
      for index in bytes.indices.reversed() {
        carry += 58 * Int(bytes[index])
        bytes[index] = UInt8(truncatingIfNeeded: carry)
        carry >>= 8
      }
      guard carry == 0 else { return nil }
    }
    guard bytes[..<2] == [0xed, 0x01], let key = AuthenticationPublicKey(bytes[2...]) else {
      return nil
    }
    self.key = key
  }
}
