internal import Cryptography
internal import Foundation
internal import TestSupport
internal import Testing
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of `awd repo sign`.
@Suite(.ownThreads) struct RepositorySigningCommandsTests {
  /// Verifies with xmlsec1, an independent oracle that trusts the certificate or the bare key.
  private func xmlsec1Accepts(
    _ path: String, _ signer: Signer, in fixture: CommandsFixture
  ) throws -> Bool {
    let certificate = try fixture.write("root.pem", signer.key.certificatePEM)
    let key = try fixture.spawn("openssl", ["x509", "-in", certificate, "-pubkey", "-noout"])
    let publicKey = try fixture.write("public.pem", key.output)
    let result = try fixture.spawn(
      "xmlsec1",
      ["--verify"]
        + (signer.isBare
          ? ["--enabled-key-data", "key-name", "--pubkey-pem", publicKey]
          : ["--enabled-key-data", "x509", "--trusted-pem", certificate]) + [
          "--verification-gmt-time", "2018-01-02 00:00:00",
          "--id-attr:Id", "http://uri.etsi.org/01903/v1.3.2#:SignedProperties",
          "--node-xpath", "/*/*[local-name()='Signature'][last()]", path,
        ])
    return result.code == 0
  }

  @Test(arguments: [
    (PublicKey.Kind.rsa, false), (.rsa, true), (.p256, false), (.p256, true),
    (.secp256k1, true), (.secp256k1, false),
  ])
  func signsForOneAndThenAnother(_ kind: PublicKey.Kind, _ isBare: Bool) throws {
    let fixture = try CommandsFixture()
    let file = try fixture.write("file.xml", tokenScript(for: alice))
    #expect(chmod(file, 0o640) == 0)
    let signer = Signer(kind, "first.example", isBare: isBare)
    let words = try ["repo", "sign", file, "--key", fixture.write("k.pem", signer.key.keyPEM)]
    let chain =
      isBare
      ? [] : ["--certificate", try fixture.write("c.pem", signer.key.certificatePEM)]
    let result = try fixture.spawn(CommandsFixture.program(), words + chain)
    #expect(result.code == 0, "\(result.errors)")
    #expect(result.output.hasPrefix("\(file): signature 1 with the \(kind.rawValue) key "))
    #expect(try xmlsec1Accepts(file, signer, in: fixture))
    #expect(
      try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o640)

    let second = try fixture.spawn(
      CommandsFixture.program(),
      ["repo", "sign", "--key", fixture.write("k2.pem", Signer.shop.key.keyPEM), file]
        + ["--certificate=" + fixture.write("c2.pem", Signer.shop.key.certificatePEM)]
        + ["--output", "both.xml"])
    #expect(second.output.contains("signature 2 with the P-256 key"), "\(second.errors)")
    #expect(try xmlsec1Accepts("both.xml", Signer.shop, in: fixture))
    let signatures = try SignatureVerifier().verify(XMLDocument(parsing: fixture.read("both.xml")))
    #expect(signatures.count == 2 && signatures[0].key.kind == kind)
    #expect(signatures.allSatisfy { $0.signingTime != nil })
    #expect(try !fixture.paths().contains { $0.hasSuffix(".new") })
  }

  @Test func aFileThroughALinkKeepsTheLink() throws {
    let fixture = try CommandsFixture()
    let file = try fixture.write("real/file.xml", tokenScript(for: alice))
    try FileManager.default.createSymbolicLink(
      atPath: "\(fixture.folder)/link.xml", withDestinationPath: file)
    let result = try fixture.spawn(
      CommandsFixture.program(),
      ["repo", "sign", "link.xml", "--key", fixture.write("k.pem", Signer.issuer.key.keyPEM)])
    #expect(result.code == 0, "\(result.errors)")
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: "\(fixture.folder)/link.xml")
        == file)
    #expect(
      try String(decoding: fixture.read("real/file.xml"), as: UTF8.self).contains("<ds:Signature"))
  }

  @Test(arguments: [
    (["changed.xml", "--key", "k.pem"], 1, "changed.xml: its signature does not hold"),
    (["other.xml", "--key", "k.pem"], 1, "only a TokenScript can be signed"),
    (["none.xml", "--key", "k.pem"], 1, "none.xml: it can't be read: No such file"),
    (["file.xml", "--key", "none.pem"], 1, "none.pem: No such file"),
    (["file.xml", "--key", "file.xml"], 1, "file.xml: no private key in the PEM text"),
    (["file.xml", "--key", "k.pem", "--certificate", "rival.pem"], 1, "rival.pem: exactly one"),
    (["file.xml", "--key", "k.pem", "--output", "none/file.xml"], 1, "none/file.xml: it can't be"),
    (["file.xml"], 2, "--key KEY is missing"), (["--key", "k.pem"], 2, "FILE is missing"),
  ])
  func refuses(_ words: [String], _ code: Int32, _ reason: String) throws {
    let fixture = try CommandsFixture()
    let signed = String(
      decoding: try Signer.shop.sign(tokenScript(for: alice), at: 1_600_000_000), as: UTF8.self)
    try fixture.write("changed.xml", signed.replacing("Coin", with: "Gold"))
    try fixture.write("other.xml", "<a/>")
    try fixture.write("file.xml", tokenScript(for: alice))
    try fixture.write("k.pem", Signer.shop.key.keyPEM)
    try fixture.write("rival.pem", Signer.rival.key.certificatePEM)
    let before = try ["changed.xml", "other.xml", "file.xml"].map(fixture.read)
    let result = try fixture.spawn(CommandsFixture.program(), ["repo", "sign"] + words)
    #expect(result.code == code)
    #expect(result.errors.contains(reason), "\(result.errors)")
    #expect(try ["changed.xml", "other.xml", "file.xml"].map(fixture.read) == before)
  }
}
