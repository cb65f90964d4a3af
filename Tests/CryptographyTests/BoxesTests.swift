internal import Cryptography
internal import Testing

/// Tests with the pairs of RFC 7748, section 6.1, which NaCl's own tests use too.
@Suite struct BoxTests {
  private static let aliceSecret =
    "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"
  private static let alicePublic =
    "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
  private static let bobSecret = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"
  private static let bobPublic = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
  private static let nonce = "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37"
  private static let message =
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc"
    + "e5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb31"
    + "0e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde"
    + "048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f93776384864" + "5e0705"
  private static let box =
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce"
    + "48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c972"
    + "71d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae"
    + "90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b3"
    + "7973f622a43d14a6599b1f654cb45a74e355a5"

  private func pair(_ secret: String) throws -> EncryptionKeyPair {
    try #require(EncryptionKeyPair(secret: Hex.decode(secret.utf8) ?? []))
  }

  @Test func publicHalfFollows() throws {
    #expect(try pair(Self.aliceSecret).publicKey.hex == Self.alicePublic)
    #expect(try pair(Self.bobSecret).publicKey.hex == Self.bobPublic)
    #expect(try pair(Self.bobSecret).withSecret { Hex.encode($0) } == Self.bobSecret)
    #expect(EncryptionKeyPair(secret: [UInt8](repeating: 1, count: 31)) == nil)
    #expect(EncryptionKeyPair(secret: [UInt8](repeating: 1, count: 33)) == nil)
    let generated = EncryptionKeyPair.generate(for: .session)
    #expect(generated.publicKey != EncryptionKeyPair.generate().publicKey)
    #expect(
      generated.withSecret { EncryptionKeyPair(secret: $0)?.publicKey } == generated.publicKey)
  }

  /// NaCl's published box is made and opened by either side.
  @Test func knownAnswer() throws {
    let alice = try pair(Self.aliceSecret)
    let bob = try pair(Self.bobSecret)
    let nonce = try #require(BoxNonce(hex: Self.nonce))
    let message = try #require(Hex.decode(Self.message.utf8))
    let fromAlice = try #require(BoxKey(own: alice, peer: bob.publicKey))
    let fromBob = try #require(BoxKey(own: bob, peer: alice.publicKey))
    #expect(Hex.encode(fromAlice.seal(message, nonce: nonce)) == Self.box)
    #expect(fromBob.open(try #require(Hex.decode(Self.box.utf8)), nonce: nonce) == message)
    #expect(fromAlice.open(fromBob.seal(message, nonce: nonce), nonce: nonce) == message)
  }

  /// Seals in place, with a byte before and after the box, even if that is nothing but the tag.
  @Test(arguments: [0, 1, 15, 16, 17, 63, 64, 65, 1000])
  func sealsWhereItStands(length: Int) throws {
    let key = try #require(
      BoxKey(own: try pair(Self.aliceSecret), peer: try pair(Self.bobSecret).publicKey))
    let nonce = try #require(BoxNonce(hex: Self.nonce))
    let message = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    let box = key.seal(message, nonce: nonce)
    var buffer = [0xaa] + [UInt8](repeating: 0x77, count: BoxKey.tagLength) + message + [0xbb]
    key.seal(1..<(1 + BoxKey.tagLength + length), of: &buffer, nonce: nonce)
    #expect(buffer == [0xaa] + box + [0xbb])
    #expect(key.open(buffer[1..<(buffer.count - 1)], nonce: nonce) == message)
  }

  /// PBKDF2, as Python's hashlib computes it.
  @Test(arguments: [
    ("password", 1, "867f70cf1ade02cff3752599a3a53dc4af34c7a669815ae5d513554e1c8cf252"),
    ("password", 4096, "d197b1b33db0143e018b12f3d1d1479e6cdebdcc97c5c0f87f6902e072f457b5"),
    ("ünïcode ﬁ", 2, "80e72d8880a03933714dcdb224d71efd66a381f247ba4939a3cfaa9883c1e261"),
  ])
  func derivesKeysFromPassphrases(_ passphrase: String, _ times: UInt32, _ key: String) throws {
    let salt = Array("salt".utf8)
    let derived = try #require(BoxKey(passphrase: passphrase, salt: salt, iterations: times))
    let bytes = try #require(Hex.decode(key.utf8))
    let expected = try #require(BoxKey(bytes))
    let nonce = try #require(BoxNonce(hex: Self.nonce))
    #expect(derived.seal([1], nonce: nonce) == expected.seal([1], nonce: nonce))
  }

  /// Changes any bit, takes or adds any byte, and uses another nonce and another key.
  @Test func opensNothingElse() throws {
    let alice = try pair(Self.aliceSecret)
    let key = try #require(BoxKey(own: alice, peer: try pair(Self.bobSecret).publicKey))
    let nonce = try #require(BoxNonce(hex: Self.nonce))
    let box = key.seal([1, 2, 3, 4], nonce: nonce)
    for index in box.indices {
      var changed = box
      changed[index] ^= 0x80
      #expect(key.open(changed, nonce: nonce) == nil)
      #expect(key.open(box[..<index], nonce: nonce) == nil)
    }
    #expect(key.open(box + [0], nonce: nonce) == nil)
    #expect(key.open(box, nonce: nonce.ending(in: 7)) == nil)
    let other = try #require(
      BoxKey(own: alice, peer: EncryptionKeyPair.generate(for: .session).publicKey))
    #expect(other.open(box, nonce: nonce) == nil)
    #expect(key.open(box, nonce: nonce) == [1, 2, 3, 4])
  }

  /// The points with which libsodium itself refuses to agree, and none near them.
  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ])
  func lowOrder(digits: String) throws {
    let pair = try pair(Self.aliceSecret)
    var bytes = try #require(Hex.decode(digits.utf8))
    for highest: UInt8 in [0, 0x80] {
      bytes[31] = bytes[31] & 0x7f | highest
      let key = try #require(EncryptionPublicKey(bytes))
      #expect(key.isLowOrder)
      #expect(BoxKey(own: pair, peer: key) == nil)
      #expect(SealedBox.seal([1], to: key) == nil)
    }
    bytes[16] ^= 0x10
    let near = try #require(EncryptionPublicKey(bytes))
    #expect(!near.isLowOrder)
    #expect(BoxKey(own: pair, peer: near) != nil)
  }

  @Test func sealedBoxes() throws {
    let pair = EncryptionKeyPair.generate(for: .session)
    let message = [UInt8](0..<32)
    let box = try #require(SealedBox.seal(message, to: pair.publicKey))
    #expect(box.count == 80)
    #expect(SealedBox.open(box, with: pair) == message)
    #expect(SealedBox.seal(message, to: pair.publicKey) != box)
    #expect(SealedBox.open(box, with: .generate(for: .session)) == nil)
    for index in box.indices {
      #expect(SealedBox.open([UInt8](box[..<index]), with: pair) == nil)
      var changed = box
      changed[index] ^= 1
      #expect(SealedBox.open(changed, with: pair) == nil)
    }
    let empty = try #require(SealedBox.seal([], to: pair.publicKey))
    #expect(SealedBox.open(empty, with: pair) == [])
  }

  @Test func secretBoxes() throws {
    let secrets = SecretBox()
    let same = try #require(secrets.withKey { SecretBox(key: $0) })
    let box = secrets.seal([1, 2, 3])
    #expect(box.count == 3 + SecretBox.overhead)
    #expect(same.open(box) == [1, 2, 3])
    #expect(same.open(secrets.seal([])) == [])
    #expect(secrets.seal([1, 2, 3]) != box)
    #expect(SecretBox().open(box) == nil)
    #expect(SecretBox(key: [UInt8](repeating: 0, count: 31)) == nil)
    for index in box.indices {
      #expect(secrets.open([UInt8](box[..<index])) == nil)
      var changed = box
      changed[index] ^= 1
      #expect(secrets.open(changed) == nil)
    }
  }

  @Test func wipes() {
    var secret: [UInt8] = [1, 2, 3]
    wipe(&secret)
    #expect(secret.isEmpty)
    wipe(&secret)
    #expect(secret.isEmpty)
  }
}
