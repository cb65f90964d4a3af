import Foundation
import ServiceKit
import Testing
import XMLSecurity

@testable import TokenScriptRepo

@Suite struct RepositoryListCommandTests {
  private func fixture() throws -> CommandsFixture {
    try CommandsFixture([
      "a/2019/05/Coin.tsml": Signers.shop.sign(tokenScript(for: alice), at: 1_570_665_600),
      "b/2019/05/Coin.tsml": Signers.shop.sign(
        tokenScript(for: alice, note: "old"), at: 1_500_000_001),
      "unsigned.xml": Array(tokenScript(for: bob).utf8), "broken.xml": Array("<".utf8),
    ])
  }

  @Test func theSpecificationsTable() async throws {
    let lines = try await fixture().run(RepositoryListCommand.self, []).split(separator: "\n")
      .map(String.init)
    let columns = [
      "contract", "contract name", "schema version", "signature date", "signer", "path", "state",
    ]
    func place(of text: String, in line: String) throws -> Int {
      line.distance(
        from: line.startIndex, to: try #require(line.range(of: text)).lowerBound)
    }
    let starts = try columns.map { try place(of: $0, in: lines[0]) }
    #expect(starts == starts.sorted())
    let served = try #require(
      lines.first { $0.contains("a/2019/05/Coin.tsml") && $0.hasSuffix("served") })
    for cell in [
      "0x6B175474E89094C44Da98b954EedeAC495271d0F", "Coin", "2019/05", "2019-10-10", "shop.example",
    ] { #expect(served.contains(cell)) }
    // Aligned: the same columns start at the same place in each row.
    #expect(try place(of: "2019-10-10", in: served) == starts[3])
    #expect(lines.contains { $0.hasSuffix("shadowed by a/2019/05/Coin.tsml") })
    #expect(
      lines.contains { $0.contains("unsigned.xml") && $0.hasSuffix("refused because not signed") })
    #expect(lines.contains { $0.contains("broken.xml") && $0.hasSuffix("not well-formed XML") })
    #expect(lines.last?.hasPrefix("4 files (1 served, 1 shadowed, 2 refused)") == true)
  }

  @Test func narrowTerminalsGetALineForEachCell() async throws {
    let output = try await fixture().run(
      RepositoryListCommand.self, [], environment: ["COLUMNS": "80"])
    #expect(output.contains("\nsigner          shop.example\n"))
    #expect(output.contains("\n\ncontract        0x6B175474E89094C44Da98b954EedeAC495271d0F\n"))
  }

  @Test func json() async throws {
    let output = try await fixture().run(RepositoryListCommand.self, ["--json"])
    let object = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
    let rows = try #require(object?["contracts"] as? [[String: Any]])
    #expect(rows.count == 4)
    let row = try #require(rows.first { $0["state"] as? String == "served" })
    #expect(row["path"] as? String == "a/2019/05/Coin.tsml")
    #expect(row["time"] as? String == "2019-10-10T00:00:00.000Z")
  }

  @Test func whatANameWouldDoToATerminalDoesNotHappen() async throws {
    let fixture = try CommandsFixture([
      "\u{1b}[2J.xml": Array("<".utf8), "\u{202e}x.xml": Array("<".utf8),
    ])
    let output = try await fixture.run(RepositoryListCommand.self, [])
    #expect(!output.contains("\u{1b}") && !output.contains("\u{202e}"))
    #expect(output.contains("\u{fffd}[2J.xml"))
  }

  @Test func nothingIsMadeByLooking() throws {
    let fixture = try fixture()
    let before = try fixture.paths()
    let result = try fixture.spawn(
      CommandsFixture.program(), ["repo", "list", "--config", "awd.toml"])
    #expect(result.status == 0 && result.output.contains("4 files"))
    #expect(try fixture.paths() == before)
  }
}

@Suite struct RepositoryVerifyCommandTests {
  @Test func whatHoldsAndWhatDoesNot() async throws {
    let fixture = try CommandsFixture()
    let good = try fixture.write(
      "good.xml", Signers.issuer.sign(tokenScript(for: alice), at: 1_600_000_000))
    let output = try await fixture.run(RepositoryVerifyCommand.self, [good])
    let key = try Signers.issuer.identifier()
    for line in [
      "\(good): would be served", "  signature  holds",
      "  trust      fails, which only warns: the signer is not trusted: a bare key, without a "
        + "certificate",
      "  origin     Coin 0x6B175474E89094C44Da98b954EedeAC495271d0F on network 1",
      "  signer     secp256k1 key \(key)", "  signed at  2020-09-13T12:26:40.000Z",
    ] { #expect(output.split(separator: "\n").contains { $0 == line }, "\(line)\n\(output)") }

    await #expect(throws: CommandError.self) {
      try await fixture.run(RepositoryVerifyCommand.self, [good], toml: "trust = \"require\"\n")
    }
  }

  @Test(arguments: [
    ("changed.xml", "the document was changed after it was signed"), ("unsigned.xml", "not signed"),
    ("broken.xml", "not well-formed XML"), ("other.xml", "in no TokenScript namespace"),
    ("none.xml", "it can't be read: No such file or directory"), ("..", "Is a directory"),
  ])
  func refused(_ name: String, _ reason: String) throws {
    let signed = String(
      decoding: try Signers.shop.sign(tokenScript(for: alice), at: 1_600_000_000), as: UTF8.self)
    let fixture = try CommandsFixture()
    try fixture.write("good.xml", signed)
    try fixture.write("changed.xml", signed.replacing("Coin", with: "Gold"))
    try fixture.write("unsigned.xml", tokenScript(for: alice))
    try fixture.write("broken.xml", "<a>")
    try fixture.write("other.xml", "<a/>")
    let result = try fixture.spawn(
      CommandsFixture.program(), ["repo", "verify", "--config", "awd.toml", "good.xml", name])
    #expect(result.status == 1)
    #expect(result.output.contains("good.xml: would be served"))
    #expect(result.output.contains("\(name): would be refused: "))
    #expect(result.output.contains(reason))
    #expect(result.errors == "awd repo verify: 1 of 2 files would be refused\n")
    let json = try fixture.spawn(
      CommandsFixture.program(),
      ["repo", "verify", "--config", "awd.toml", "--json", "good.xml", name])
    let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
    let files = try #require(object?["files"] as? [[String: Any]])
    #expect(files.map { $0["holds"] as? Bool } == [true, false])
    let checks = try #require(files[0]["checks"] as? [String: [String: String]])
    #expect(checks["signature"] == ["outcome": "holds", "rule": "require"])
    #expect((files[1]["reason"] as? String)?.contains(reason) == true)
    // By the path that `repo list` tells, wherever it is called.
    try fixture.write("repository/shop/Coin.xml", signed)
    let listed = try fixture.spawn(
      CommandsFixture.program(),
      ["repo", "verify", "--config", "\(fixture.folder)/awd.toml", "shop/Coin.xml"])
    #expect(listed.output.hasPrefix("\(fixture.root)/shop/Coin.xml: would be served\n"))
  }
}

@Suite struct RepositorySignCommandTests {
  /// The independent oracle: xmlsec1, with the certificate as its root, or the bare key.
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
    return result.status == 0
  }

  @Test(arguments: [
    (SigningKey.Kind.rsa, false), (.rsa, true), (.p256, false), (.p256, true),
    (.secp256k1, true), (.secp256k1, false),
  ])
  func signsForOneAndThenAnother(_ kind: SigningKey.Kind, _ isBare: Bool) throws {
    let fixture = try CommandsFixture()
    let file = try fixture.write("file.xml", tokenScript(for: alice))
    #expect(chmod(file, 0o640) == 0)
    let signer = Signer(kind, "first.example", isBare: isBare)
    let words = try ["repo", "sign", file, "--key", fixture.write("k.pem", signer.key.keyPEM)]
    let chain =
      isBare
      ? [] : ["--certificate", try fixture.write("c.pem", signer.key.certificatePEM)]
    let result = try fixture.spawn(CommandsFixture.program(), words + chain)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.hasPrefix("\(file): signature 1 with the \(kind.rawValue) key "))
    #expect(try xmlsec1Accepts(file, signer, in: fixture))
    #expect(
      try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o640)

    let second = try fixture.spawn(
      CommandsFixture.program(),
      ["repo", "sign", "--key", fixture.write("k2.pem", Signers.shop.key.keyPEM), file]
        + ["--certificate=" + fixture.write("c2.pem", Signers.shop.key.certificatePEM)]
        + ["--output", "both.xml"])
    #expect(second.output.contains("signature 2 with the P-256 key"), "\(second.errors)")
    #expect(try xmlsec1Accepts("both.xml", Signers.shop, in: fixture))
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
      ["repo", "sign", "link.xml", "--key", fixture.write("k.pem", Signers.issuer.key.keyPEM)])
    #expect(result.status == 0, "\(result.errors)")
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
      decoding: try Signers.shop.sign(tokenScript(for: alice), at: 1_600_000_000), as: UTF8.self)
    try fixture.write("changed.xml", signed.replacing("Coin", with: "Gold"))
    try fixture.write("other.xml", "<a/>")
    try fixture.write("file.xml", tokenScript(for: alice))
    try fixture.write("k.pem", Signers.shop.key.keyPEM)
    try fixture.write("rival.pem", Signers.rival.key.certificatePEM)
    let before = try ["changed.xml", "other.xml", "file.xml"].map(fixture.read)
    let result = try fixture.spawn(CommandsFixture.program(), ["repo", "sign"] + words)
    #expect(result.status == code)
    #expect(result.errors.contains(reason), "\(result.errors)")
    #expect(try ["changed.xml", "other.xml", "file.xml"].map(fixture.read) == before)
  }
}

@Suite struct RepositoryGoneCommandTests {
  @Test func aFileOrAllOfAContract() async throws {
    let fixture = try CommandsFixture([
      "a.xml": Array(tokenScript(for: alice).utf8),
      "b/c.tsml": Array(tokenScript("2020/03", for: alice).utf8),
      "d.xml": Array(tokenScript(for: bob).utf8),
    ])
    let output = try await fixture.run(RepositoryGoneCommand.self, ["d.xml"])
    #expect(
      output.hasSuffix("d.xml.gone: 2019/05 is gone for 0x4F9254C83EB525f9FCf346490bbb3ed28a81C667")
    )
    _ = try await fixture.run(RepositoryGoneCommand.self, [alice, "\(fixture.root)/a.xml"])
    #expect(
      try fixture.paths(below: "repository") == ["a.xml.gone", "b", "b/c.tsml.gone", "d.xml.gone"])
    let list = try await fixture.run(RepositoryListCommand.self, [])
    #expect(list.contains("3 files (3 gone)"))
  }

  @Test(arguments: [
    ("none.xml", "No such file"), ("notes.txt", "only a file *.tsml or *.xml is ever served"),
    ("broken.xml", "not well-formed XML"), ("both.xml", "both.xml.gone is there already"),
    (bob, "is served for 2 contracts"),
    ("0x00000000000000000000000000000000000000aa", "is served for it"),
  ])
  func refusesAndRenamesNothing(_ operand: String, _ reason: String) async throws {
    let two = tokenScript(
      contracts: [("Coin", [("1", alice), ("1", bob)])], origins: ["Coin"])
    let fixture = try CommandsFixture([
      "notes.txt": [], "broken.xml": Array("<".utf8),
      "both.xml": Array(tokenScript(for: alice).utf8),
      "both.xml.gone": Array(tokenScript(for: alice).utf8), "two.xml": Array(two.utf8),
    ])
    let before = try fixture.paths()
    let error = await #expect(throws: CommandError.self) {
      try await fixture.run(RepositoryGoneCommand.self, [operand])
    }
    guard case .refused(let words) = error else { return }
    #expect(words.contains(reason), "\(words)")
    #expect(try fixture.paths() == before)
  }
}

@Suite struct RepositoryCheckTests {
  @Test func goodDoubtfulAndWrong() throws {
    let fixture = try CommandsFixture([
      "a.xml": Signers.shop.sign(tokenScript(for: alice), at: 1_600_000_000)
    ])
    let program = try CommandsFixture.program()
    let good = try fixture.spawn(program, ["check", "--config", "\(fixture.folder)/awd.toml"])
    #expect(good.status == 0)
    #expect(good.output.contains("# tokenscript: good: \(fixture.root): 1 files (1 served)"))
    #expect(good.output.contains("# tokenscript: doubtful: a.xml: the signer is not trusted: "))

    try fixture.write("repository/b.xml", tokenScript(for: bob))
    let bad = try fixture.spawn(
      program, ["check", "--json", "--config", "\(fixture.folder)/awd.toml"])
    #expect(bad.status == 1)
    let object = try JSONSerialization.jsonObject(with: Data(bad.output.utf8)) as? [String: Any]
    #expect(object?["valid"] as? Bool == false)
    let content = try #require(object?["content"] as? [[String: String]])
    #expect(
      content.contains([
        "service": "tokenscript", "grade": "wrong",
        "message": "b.xml: refused because not signed: there is no signature",
      ]))

    try FileManager.default.removeItem(atPath: fixture.root)
    let missing = try fixture.spawn(program, ["check", "--config", "\(fixture.folder)/awd.toml"])
    #expect(missing.status == 1)
    #expect(missing.output.contains("wrong: the repository \(fixture.root) can't be read"))
    #expect(!fixture.exists("var"))
  }
}
