internal import Cryptography
internal import TestSupport
internal import Testing
internal import XMLSecurity

struct MessageSignatureTests {
  private static let message = Array("DELETE\nhttps://repo.example/\n".utf8)

  @Test(arguments: PublicKey.Kind.allCases)
  func aSignatureHoldsForItsMessageAndKeyOnly(_ kind: PublicKey.Kind) throws {
    let key = try PrivateKey(pem: Signer(kind, "a").key.keyPEM)
    let other = try PrivateKey(pem: Signer(kind, "b").key.keyPEM)
    let signature = try key.sign(message: Self.message)
    #expect(key.publicKey.verifies(signature, of: Self.message))
    #expect(!other.publicKey.verifies(signature, of: Self.message))
    #expect(!key.publicKey.verifies(signature, of: Self.message + [0]))
    for length in [0, 1, signature.count - 1, signature.count + 2] {
      let wrong = Array((signature + [1, 2]).prefix(length))
      #expect(!key.publicKey.verifies(wrong, of: Self.message), "\(length)")
    }
    #expect(
      !key.publicKey.verifies([UInt8](repeating: 0, count: signature.count), of: Self.message))
    var flipped = signature
    flipped[signature.count / 2] ^= 1
    #expect(!key.publicKey.verifies(flipped, of: Self.message))
  }

  /// What `openssl dgst -sha256 -sign` makes for an RSA key.
  @Test func opensslMakesTheSameSignature() throws {
    let folder = TemporaryFolder()
    let pem = Signer(.rsa, "a").key.keyPEM
    let path = try folder.write("key.pem", pem)
    let message = try folder.write("message", Self.message)
    let outcome = try ChildProcess.run(
      "openssl", ["dgst", "-sha256", "-sign", path, "-out", "\(folder.path)/signature", message],
      in: folder.path, home: folder.path)
    #expect(outcome.code == 0, "\(outcome.errors)")
    #expect(try folder.read("signature") == PrivateKey(pem: pem).sign(message: Self.message))
  }

  /// A signature that eth-account made (EIP-191), with the byte behind it from which wallets recover the key.
  @Test func aWalletsSignatureHolds() throws {
    let pem = """
      -----BEGIN EC PRIVATE KEY-----
      MC4CAQEEIEwIg6aRApN9YjFHG127YgT+USlhcIJ5KuRo0Bo/NiMYoAcGBSuBBAAK
      -----END EC PRIVATE KEY-----

      """
    let key = try PrivateKey(pem: Array(pem.utf8)).publicKey
    #expect(key.identifier == "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23")
    let signature = try #require(
      Hex.decode(
        """
        d58f30972a849d1d5bc8e55ae36ad38b98c94e4efa9ff205d926194772b1f2a8\
        796276b6bc88852333f9b57e7557156029177959c0442dfe70426ca4eb844746\
        1c
        """.utf8))
    #expect(key.verifies(signature, of: Self.message))
    #expect(key.verifies(Array(signature.dropLast()), of: Self.message))
  }
}
