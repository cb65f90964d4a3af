internal import Testing

@testable internal import Cryptography

@Suite struct P256KeyPairTests {
  @Test(arguments: [PEMTexts.key, PEMTexts.traditionalKey])
  func reads(_ text: String) throws {
    let pair = try P256KeyPair(pem: Array(text.utf8))
    // As `openssl ec -text` shows them.
    let secret = "2d6b7f13e8f1d10136a8088901c9335f903820ae33303e69372bb27986bf670a"
    #expect(try Hex.encode(#require(pair.secretNumber)) == secret)
    #expect(Hex.encode(pair.publicKey.bytes).hasPrefix("04c7fc816ae2dfb3710f85b927f96361"))
  }

  @Test(arguments: [
    "", PEMTexts.certificate, PEMTexts.encryptedKey, PEMTexts.p384Key, PEMTexts.secp256k1Key,
    PEMTexts.ed25519Key,
  ])
  func refuses(_ text: String) {
    #expect(throws: P256KeyPair.Unusable.self) { try P256KeyPair(pem: Array(text.utf8)) }
  }
}

/// Key agreement on P-256, key derivation and AES-GCM, with vectors of others.
@Suite struct KeyAgreementTests {
  private func bytes(_ hex: String) -> [UInt8] { Hex.decode(Array(hex.utf8)) ?? [] }

  @Test func bothSidesAgree() throws {
    let one = try P256KeyPair()
    let other = try P256KeyPair(pem: try #require(try P256KeyPair().pem))
    let secret = try #require(one.sharedSecret(with: other.publicKey))
    #expect(secret.count == 32)
    #expect(other.sharedSecret(with: one.publicKey) == secret)
    let read = try #require(P256PublicKey(other.publicKey.bytes))
    #expect(one.sharedSecret(with: read) == secret)
    #expect(try P256KeyPair().sharedSecret(with: read) != secret)
    #expect(throws: P256KeyPair.Unusable.self) { try P256KeyPair(pem: Array("x".utf8)) }
  }

  @Test func whatIsNoPointIsRefused() throws {
    let good = try P256KeyPair().publicKey.bytes
    var off = good
    off[64] ^= 1
    let wrongs: [[UInt8]] = [
      off, [], Array(good.dropLast()), good + [0], [2] + Array(good[1..<33]), [0],
      [4] + Array(repeating: 0, count: 64), [6] + Array(good[1...]),
    ]
    for wrong in wrongs {
      #expect(P256PublicKey(wrong) == nil)
    }
  }

  /// RFC 5869 appendix A.1.
  @Test func derivesAsTheVectorSays() {
    let key = HKDF.derive(
      from: [UInt8](repeating: 0x0b, count: 22), salt: Array(0x00...0x0c),
      info: Array(0xf0...0xf9), count: 42)
    #expect(
      key
        == bytes(
          "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"))
  }

  /// Test case 3 of the specification of GCM.
  @Test func sealsAsTheVectorSays() {
    let message = bytes(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255")
    let sealed = AES128GCM.seal(
      message, key: bytes("feffe9928665731c6d6a8f9467308308"),
      nonce: bytes("cafebabefacedbaddecaf888"))
    #expect(
      sealed
        == bytes(
          "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
            + "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
            + "4d5c2af327cd64a62cf35abd2ba6fab4"))
    #expect(AES128GCM.seal(message, key: [1], nonce: bytes("cafebabefacedbaddecaf888")) == nil)
  }
}
