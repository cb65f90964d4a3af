internal import Foundation
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@Suite(.ownThreads) struct SignatureWriterTests {
  @Test(arguments: PublicKey.Kind.allCases, [true, false])
  func ownVerifierAccepts(kind: PublicKey.Kind, withCertificate: Bool) throws {
    let signed = try Fixtures.signed(by: kind, withCertificate: withCertificate)
    let signature = try #require(try verify(signed).first)
    #expect(signature.signingTime == Fixtures.signingTime)
    #expect(signature.signingTimeText == "2024-01-01T00:00:00Z")
    #expect(signature.key == (try Fixtures.privateKey(kind).publicKey))
    #expect(signature.key.kind == kind)
    #expect((signature.key.address != nil) == (kind == .secp256k1))
    #expect(signature.key.identifier.count == (kind == .secp256k1 ? 42 : 64))
    #expect(signature.certificate == (withCertificate ? try Fixtures.certificate(kind) : nil))
    #expect(signature.otherCertificates.isEmpty)
  }

  /// Verifies with xmlsec1, an independent oracle that trusts only the certificate or the bare key.
  @Test(arguments: PublicKey.Kind.allCases, [true, false])
  func xmlsec1Accepts(kind: PublicKey.Kind, withCertificate: Bool) throws {
    let folder = TemporaryFolder()
    let signed = try Fixtures.signed(by: kind, withCertificate: withCertificate)
    let file = try folder.write("signed.xml", signed)
    let certificate = try folder.write("certificate.pem", Fixtures.key(kind).certificatePEM)
    let key = try folder.run("openssl", ["x509", "-in", certificate, "-pubkey", "-noout"])
    let publicKey = try folder.write("public.pem", key.output)
    let keyOptions =
      withCertificate
      ? ["--enabled-key-data", "x509", "--trusted-pem", certificate]
      : ["--enabled-key-data", "key-name", "--pubkey-pem", publicKey]
    let options =
      ["--verify"] + keyOptions
      + [
        "--verification-gmt-time", "2024-01-02 00:00:00",
        "--id-attr:Id", "http://uri.etsi.org/01903/v1.3.2#:SignedProperties",
      ]
    let result = try folder.run("xmlsec1", options + [file])
    #expect(result.code == 0, "\(result)")

    let changed = try folder.write(
      "changed.xml", signed.replacing("2024-01-01T00", by: "2024-01-01T01"))
    #expect(try folder.run("xmlsec1", options + [changed]).code != 0)
  }

  @Test func keepsTheBytes() throws {
    let signed = try Fixtures.signed()
    let signature = try signed.part(from: "<ds:Signature ", through: "</ds:Signature>")
    #expect(try signed.replacing(signature, by: "") == Fixtures.unsigned)
    #expect(signed.contains(signature + "</ts:token>"))
  }

  @Test(arguments: [
    "<a/>", "<a />", "<a></a>", "<p:a xmlns:p='urn:p' b='/>'\n/>", "<a>x</a><!-- </a> -->",
    "\u{feff}<a/>", "<?xml version='1.0'?>\r\n<a>\r\n</a>\r\n<?pi </a>?>", "<é/>",
    "<a xml:lang='en' xmlns='urn:a' xmlns:ds='urn:not-dsig'><ds:b/></a>",
  ])
  func anyRoot(document: String) throws {
    let signed = try Fixtures.signed(document, by: .secp256k1, withCertificate: false)
    #expect(try verify(signed).count == 1)
  }

  @Test func furtherSigners() throws {
    var document = Fixtures.unsigned
    for number in 0..<8 {
      document = try Fixtures.signed(
        document, by: number.isMultiple(of: 2) ? .secp256k1 : .p256, withCertificate: number > 3,
        at: Fixtures.signingTime + .seconds(number))
    }
    let signatures = try verify(document)
    #expect(signatures.map(\.signingTime) == (0..<8).map { Fixtures.signingTime + .seconds($0) })
    #expect(signatures.map(\.key.kind) == (0..<4).flatMap { _ in [.secp256k1, .p256] })
    #expect(throws: SigningError.self) { try Fixtures.signed(document) }
  }

  /// xmlsec1 removes only the signature that it verifies, so it accepts the last of several, and the first one if those
  /// behind it are cut out.
  @Test func xmlsec1AcceptsSeveral() throws {
    let folder = TemporaryFolder()
    let first = try Fixtures.signed(by: .p256)
    let second = try Fixtures.signed(first, by: .rsa)
    for (kind, document) in [(PublicKey.Kind.p256, first), (.rsa, second)] {
      let root = try folder.write("\(kind).pem", Fixtures.key(kind).certificatePEM)
      let file = try folder.write("\(kind).xml", document)
      let result = try folder.run(
        "xmlsec1",
        [
          "--verify", "--enabled-key-data", "x509", "--trusted-pem", root,
          "--verification-gmt-time", "2024-01-02 00:00:00",
          "--id-attr:Id", "http://uri.etsi.org/01903/v1.3.2#:SignedProperties",
          "--node-xpath", "/*/*[local-name()='Signature'][last()]", file,
        ])
      #expect(result.code == 0, "\(result)")
    }
  }

  @Test func refusesForeignCertificate() throws {
    #expect(throws: SigningError.self) {
      try SignatureWriter(
        key: Fixtures.privateKey(.p256), certificates: [Fixtures.certificate(.rsa)])
    }
  }

  @Test func refusesToCountersignWhatDoesNotHold() throws {
    let broken = try Fixtures.signed().replacing("Entry &amp; exit", by: "Exit &amp; entry")
    #expect(throws: SigningError.self) { try Fixtures.signed(broken, by: .rsa) }
  }

  @Test func opensslReadsDevelopmentKey() throws {
    let folder = TemporaryFolder()
    let key = try Fixtures.key(.secp256k1)
    let paths = (key: folder.path + "/key.pem", certificate: folder.path + "/certificate.pem")
    try Data(key.keyPEM).write(to: URL(filePath: paths.key))
    try Data(key.certificatePEM).write(to: URL(filePath: paths.certificate))
    let text = try folder.run("openssl", ["x509", "-in", paths.certificate, "-noout", "-text"])
    #expect(text.output.contains("CN = *.secp256k1.example"))
    let keyText = try folder.run("openssl", ["pkey", "-in", paths.key, "-noout", "-text"])
    #expect(keyText.output.contains("secp256k1"))
  }

  @Test(arguments: ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
  func refusesKeys(pem: String) {
    #expect(throws: SigningError.self) { try PrivateKey(pem: [UInt8](pem.utf8)) }
  }

  @Test(arguments: [
    ["genrsa", "1024"], ["genpkey", "-algorithm", "ed25519"],
    ["ecparam", "-name", "secp224r1", "-genkey", "-noout"],
    ["genpkey", "-algorithm", "RSA", "-aes128", "-pass", "pass:secret"],
  ])
  func refusesKindsOfKey(command: [String]) throws {
    let pem = try TemporaryFolder().run("openssl", command).output
    #expect(pem.contains("PRIVATE KEY"))
    #expect(throws: SigningError.self) { try PrivateKey(pem: [UInt8](pem.utf8)) }
  }
}
