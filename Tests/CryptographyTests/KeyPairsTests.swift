internal import Cryptography
internal import Testing

@Suite struct SignatureTests {
  /// RFC 8032, section 7.1.
  @Test(arguments: [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555"
        + "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    ),
    (
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da0"
        + "85ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    ),
  ])
  func knownAnswers(seed: String, key: String, message: String, signature: String) throws {
    let pair = try #require(AuthenticationKeyPair(seed: Hex.decode(seed.utf8) ?? []))
    let message = try #require(Hex.decode(message.utf8))
    #expect(pair.publicKey.hex == key)
    #expect(pair.sign(message).hex == signature)
    #expect(pair.publicKey.verifies(pair.sign(message), over: message))
    #expect(pair.withSeed { Hex.encode($0) } == seed)
  }

  @Test func verifiesNothingElse() throws {
    let pair = AuthenticationKeyPair.generate(for: .session)
    let subject = EncryptionKeyPair.generate(for: .session).publicKey
    let signature = pair.sign(subject)
    #expect(signature == pair.sign(subject.bytes))
    #expect(pair.publicKey.verifies(signature, over: subject))
    #expect(pair.publicKey.verifies(signature, over: subject.bytes))
    #expect(!pair.publicKey.verifies(signature, over: subject.bytes + [0]))
    #expect(!pair.publicKey.verifies(signature, over: EncryptionPublicKey()))
    #expect(!pair.publicKey.verifies(Signature(), over: subject))
    let other = AuthenticationKeyPair.generate()
    #expect(!other.publicKey.verifies(signature, over: subject))
    for index in 0..<64 {
      var bytes = signature.bytes
      bytes[index] ^= 1
      let changed = try #require(Signature(bytes))
      #expect(!pair.publicKey.verifies(changed, over: subject))
    }
  }

  @Test(arguments: [0, 31, 33, 64])
  func isNoSeed(count: Int) {
    #expect(AuthenticationKeyPair(seed: [UInt8](repeating: 1, count: count)) == nil)
  }

  /// Under such a key a signature of R = key and S = 0 would hold over some messages.
  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ])
  func lowOrder(digits: String) throws {
    var bytes = try #require(Hex.decode(digits.utf8))
    for sign: UInt8 in [0, 0x80] {
      bytes[31] = bytes[31] & 0x7f | sign
      let key = try #require(AuthenticationPublicKey(bytes))
      #expect(key.isLowOrder)
      let forged = try #require(Signature(bytes + [UInt8](repeating: 0, count: 32)))
      for message in 0..<32 { #expect(!key.verifies(forged, over: [UInt8(message)])) }
    }
    bytes[16] ^= 0x10
    #expect(try #require(AuthenticationPublicKey(bytes)).isLowOrder == false)
  }
}
