internal import ApptimistProtocol
internal import Cryptography
internal import Testing

@Suite struct ServiceIdentityTests {
  private let encryption = EncryptionKeyPair.generate(for: .session)
  private let authentication = AuthenticationKeyPair.generate(for: .session)
  private var identity: ServiceIdentity {
    ServiceIdentity(encryption: encryption, authentication: authentication)
  }

  @Test func dataNonceBeginsTheSignature() {
    #expect(identity.signature == authentication.sign(encryption.publicKey.bytes))
    #expect(identity.dataNonce.bytes == Array(identity.signature.bytes[..<24]))
  }

  @Test func takesOnlyWhatBelongsTogether() {
    let other = ServiceIdentity(
      encryption: .generate(for: .session), authentication: authentication)
    #expect(
      ServiceIdentity(
        encryptionKey: encryption.publicKey, authenticationKey: authentication.publicKey,
        signature: identity.signature) == identity)
    #expect(
      ServiceIdentity(
        encryptionKey: other.encryptionKey, authenticationKey: authentication.publicKey,
        signature: identity.signature) == nil)
    #expect(
      ServiceIdentity(
        encryptionKey: EncryptionPublicKey(), authenticationKey: authentication.publicKey,
        signature: authentication.sign(EncryptionPublicKey())) == nil)
  }

  @Test func document() throws {
    let document = ServiceDocument(service: "si\"ren", identity: identity)
    let json = try document.json()
    #expect(
      String(decoding: json, as: UTF8.self) == """
        {"authenticationKey":"\(authentication.publicKey.hex)",\
        "encryptionKey":"\(encryption.publicKey.hex)","service":"si\\"ren",\
        "signature":"\(identity.signature.hex)","versions":[1]}
        """)
    #expect(try ServiceDocument(json: json) == document)
  }

  @Test func documentOfALaterVersion() throws {
    let json = """
      {"extra":{"a":[1]},"versions":[1,2],"service":"s","signature":"\(identity.signature.hex)",
      "encryptionKey":"\(encryption.publicKey.hex.uppercased())",
      "authenticationKey":"\(authentication.publicKey.hex)"}
      """
    let document = try ServiceDocument(json: Array(json.utf8))
    #expect(document.versions == [1, 2])
    #expect(document.identity == identity)
  }

  @Test(arguments: [
    "", "[]", "{}", "null",
    #"{"service":"s","encryptionKey":"00","authenticationKey":"00","signature":"00","versions":[1]}"#,
  ])
  func malformedDocuments(json: String) {
    #expect(throws: ServiceDocumentError.malformed) { try ServiceDocument(json: Array(json.utf8)) }
  }

  @Test func documentWithAnotherSignature() {
    let other = ServiceIdentity(
      encryption: .generate(for: .session), authentication: authentication)
    let json = """
      {"versions":[1],"service":"s","signature":"\(other.signature.hex)",
      "encryptionKey":"\(encryption.publicKey.hex)",
      "authenticationKey":"\(authentication.publicKey.hex)"}
      """
    #expect(throws: ServiceDocumentError.wrongSignature) {
      try ServiceDocument(json: Array(json.utf8))
    }
  }
}

@Suite struct MessageIDTests {
  /// SHA-512 of "abc".
  @Test func hashesHeaderAndData() {
    let digits =
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
      + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    let message = Array("xabcx".utf8)
    #expect(MessageID(header: [0x61], data: message[2...3]).hex == digits)
    #expect(MessageID(header: [0x61, 0x62, 0x63], data: []).hex == digits)
    #expect(MessageID().isZero)
  }
}
