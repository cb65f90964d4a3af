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
    // The last byte of a wallet's signature may be missing.
    for length in [0, 1, signature.count - 2, signature.count + 2] {
      let wrong = Array((signature + [1, 2]).prefix(length))
      #expect(!key.publicKey.verifies(wrong, of: Self.message), "\(length)")
    }
    #expect(
      !key.publicKey.verifies([UInt8](repeating: 0, count: signature.count), of: Self.message))
    var flipped = signature
    flipped[signature.count / 2] ^= 1
    #expect(!key.publicKey.verifies(flipped, of: Self.message))
  }

  /// The output of `openssl dgst -sha256 -sign` for an RSA key.
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

  /// Recovers the address as a wallet or contract does, without OpenSSL.
  @Test func theMarkOfAWalletsSignatureTellsTheKey() async throws {
    let script = """
      import sys
      P, N = 2**256 - 2**32 - 977, 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
      G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
           0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)
      def add(a, b):
          if a is None or b is None: return a or b
          if a[0] == b[0] and (a[1] + b[1]) % P == 0: return None
          m = (3 * a[0]**2 * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)) % P
          x = (m * m - a[0] - b[0]) % P
          return x, (m * (a[0] - x) - a[1]) % P
      def times(k, a):
          sum = None
          while k:
              if k & 1: sum = add(sum, a)
              a, k = add(a, a), k >> 1
          return sum
      signature, digest = bytes.fromhex(sys.argv[1]), int(sys.argv[2], 16)
      r, s, v = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big"), signature[64]
      assert s <= N // 2
      y = pow(r**3 + 7, (P + 1) // 4, P)
      R = (r, y if y % 2 == v - 27 else P - y)
      x, y = times(pow(r, -1, N), add(times(s, R), times(N - digest % N, G)))
      print("04%064x%064x" % (x, y), end="")
      """
    for number in 0..<8 {
      let key = try PrivateKey(pem: Signer(.secp256k1, "key").key.keyPEM)
      let message = Array("message \(number)".utf8)
      let signature = try key.sign(message: message)
      #expect(key.publicKey.verifies(signature, of: message))
      let head = Array("\u{19}Ethereum Signed Message:\n\(message.count)".utf8)
      let found = try await ChildProcess.run(
        "python3",
        ["-c", script, Hex.encode(signature), Keccak256.hash(head + message).hex])
      #expect(
        found.output == "04" + Hex.encode(Array(key.publicKey.subjectPublicKeyInfo.suffix(64))),
        "\(found)")
    }
  }
}
