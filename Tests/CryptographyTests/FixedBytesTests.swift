internal import Cryptography
internal import Testing

@Suite struct FixedBytesTests {
  private static let digits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"

  @Test func keepsTheBytesInOrder() throws {
    let bytes = [UInt8](0...30) + [0xff]
    let key = try #require(EncryptionPublicKey(bytes))
    #expect(key.bytes == bytes)
    #expect(key.hex == Self.digits)
    #expect(EncryptionPublicKey(hex: Self.digits) == key)
    #expect(EncryptionPublicKey(hex: Self.digits.uppercased()) == key)
    #expect(EncryptionPublicKey(([7] + bytes + [7])[1...32]) == key)
    var array: [UInt8] = [9]
    key.append(to: &array)
    #expect(array == [9] + bytes)
    #expect(!key.isZero && EncryptionPublicKey().isZero)
  }

  @Test func hasItsOwnLength() {
    #expect(EncryptionPublicKey.byteCount == 32)
    #expect(AuthenticationPublicKey.byteCount == 32)
    #expect(Signature.byteCount == 64)
    #expect(BoxNonce.byteCount == 24)
    #expect(SHA512.Digest.byteCount == 64)
    for count in 0...100 {
      let bytes = [UInt8](repeating: 1, count: count)
      #expect((EncryptionPublicKey(bytes) != nil) == (count == 32))
      #expect((Signature(bytes) != nil) == (count == 64))
      #expect((BoxNonce(bytes) != nil) == (count == 24))
    }
  }

  private static let noKeys: [String] = [
    "", "00", "\(digits)0", "\(digits)00", String(digits.dropLast()), String(digits.dropLast(2)),
    "0x\(digits.dropLast(2))", "g\(digits.dropFirst())", " \(digits.dropFirst())",
    "+1\(digits.dropFirst(2))", "é\(digits.dropFirst(2))",
  ]

  @Test(arguments: noKeys)
  func isNoKey(text: String) {
    #expect(EncryptionPublicKey(hex: text) == nil)
  }

  /// The first byte that differs decides, unsigned.
  @Test(arguments: [0, 1, 7, 8, 15, 16, 23, 24, 31])
  func comesBefore(index: Int) throws {
    var smaller = [UInt8](repeating: 0x55, count: 32)
    var larger = smaller
    smaller[index] = 0x7f
    larger[index] = 0x80
    // Later bytes don't matter.
    for later in (index + 1)..<32 {
      smaller[later] = 0xff
      larger[later] = 0
    }
    let first = try #require(EncryptionPublicKey(smaller))
    let second = try #require(EncryptionPublicKey(larger))
    #expect(first < second)
    #expect(!(second < first) && !(first < first))
  }

  @Test func nonceEndsInTheCounter() throws {
    let signature = try #require(Signature([UInt8](1...64)))
    let nonce = BoxNonce(prefixOf: signature)
    #expect(nonce.bytes == [UInt8](1...24))
    #expect(nonce.ending(in: 0xabcd).bytes == [UInt8](1...22) + [0xab, 0xcd])
    #expect(nonce.ending(in: 1).bytes == [UInt8](1...22) + [0, 1])
  }
}
