internal import Foundation
internal import TestSupport
internal import Testing
internal import XMLSecurity

@testable import TokenScriptRepo

private let hasLibraries =
  (try? ChildProcess.run("/usr/bin/python3", ["-c", "import lxml, cryptography"]).code) == 0

/// Tests of what the official tool, its engine and awd take from one another.
@Suite(
  .ownThreads, .withOtherPrograms,
  .enabled(if: hasLibraries, "needs python3-lxml and python3-cryptography"))
struct OfficialToolTests {
  private static let checker = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Python/official.py").path

  private static let signingKey = "41b51bba4bae2f12bb88058a92a0c623e705859966b03fd85658b5b29e730d89"
  private static let masterKey = "23f48fa453001ff182372b1e18f229187888c7efa2dd27d8d308f7afe174d971"

  /// Returns what the engine makes of a file's first signature.
  private func engine(_ path: String, in fixture: CommandsFixture) throws -> String {
    let result = try fixture.spawn("/usr/bin/python3", [Self.checker, path])
    #expect(result.code == 0, "\(result.errors)")
    return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func awd(
    _ words: [String], in fixture: CommandsFixture, code: Int32 = 0
  ) throws -> String {
    let result = try fixture.spawn(CommandsFixture.program(), words)
    #expect(result.code == code, "\(result.output)\(result.errors)")
    return result.output + result.errors
  }

  /// Writes a file and signs it.
  private func sign(_ options: [String], in fixture: CommandsFixture) throws -> String {
    try fixture.write("t.tsml", tokenScript(for: alice))
    return try awd(["repo", "sign"] + options + ["t.tsml"], in: fixture)
  }

  @Test(arguments: PublicKey.Kind.allCases)
  func theEngineReadsEveryKindOfKey(kind: PublicKey.Kind) throws {
    let fixture = try CommandsFixture()
    let signer = Signer(kind, "author.example", isBare: true)
    try fixture.write("k.pem", signer.key.keyPEM)
    try fixture.write("c.pem", signer.key.certificatePEM)
    let bare = try sign(["--key", "k.pem"], in: fixture)
    #expect(!bare.contains("warning"))
    #expect(try engine("t.tsml", in: fixture).hasPrefix("signed "))
    // The engine takes one certificate of a stranger for no signature at all, and awd says so.
    let certified = try sign(["--key", "k.pem", "--certificate", "c.pem"], in: fixture)
    #expect(certified.contains("warning: the official engine"))
    #expect(try engine("t.tsml", in: fixture) == "unsigned a certificate without issuerAltName")
    let text = String(decoding: try fixture.read("t.tsml"), as: UTF8.self)
    let value = try #require(text.firstRange(of: "<ds:KeyValue>"))
    let data = try #require(text.firstRange(of: "<ds:X509Data>"))
    #expect(value.lowerBound < data.lowerBound)
    #expect(try awd(["repo", "verify", "t.tsml"], in: fixture).contains("would be served"))
  }

  /// A leading zero of a coordinate stays: the library makes a JWK of it.
  @Test func coordinatesHaveTheirFullLength() throws {
    let fixture = try CommandsFixture()
    var secret: UInt64 = 1
    var found = false
    while !found, secret < 5000 {
      let digits = String(repeating: "0", count: 48) + String(format: "%016x", secret)
      let key = try PrivateKey(file: Array(digits.utf8))
      // The point is the end of the SubjectPublicKeyInfo.
      let point = key.publicKey.subjectPublicKeyInfo.suffix(64)
      found = point.first == 0 || point.dropFirst(32).first == 0
      if found {
        try fixture.write("ts-signing.key", digits)
        _ = try sign(["--key", "ts-signing.key"], in: fixture)
        #expect(try engine("t.tsml", in: fixture).hasPrefix("signed secp256k1"))
      }
      secret += 1
    }
    #expect(found)
  }

  @Test func hexadecimalKeysAreTaken() throws {
    let fixture = try CommandsFixture()
    for text in [
      Self.signingKey, "0x\(Self.signingKey)", "  \(Self.signingKey.uppercased())\r\n",
      "\n\t0x\(Self.signingKey) ", "\u{feff}\(Self.signingKey)\r\n",
    ] {
      try fixture.write("ts-signing.key", text)
      #expect(
        try sign(["--key", "ts-signing.key"], in: fixture).contains("with the secp256k1 key"))
    }
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
    for text in [
      String(repeating: "0", count: 64), order, String(repeating: "f", count: 64),
      String(Self.signingKey.dropLast()), Self.signingKey + "00", "0x",
    ] {
      try fixture.write("ts-signing.key", text)
      try fixture.write("t.tsml", tokenScript(for: alice))
      let output = try awd(
        ["repo", "sign", "--key", "ts-signing.key", "t.tsml"], in: fixture, code: 1)
      let digits = text.replacing("0x", with: "")
      #expect(digits.isEmpty || !output.contains(digits))
    }
  }

  @Test func certificatesAreMadeAsTheToolMakesThem() throws {
    let fixture = try CommandsFixture()
    try fixture.write("ts-signing.key", Self.signingKey)
    try fixture.write("ts-master.key", Self.masterKey)
    _ = try awd(
      ["repo", "certificate", "request", "--key", "ts-signing.key", "--cn", "author.example"],
      in: fixture)
    let request = "ts-certificate-request.pem"
    #expect(
      String(decoding: try fixture.read(request), as: UTF8.self)
        .hasPrefix("-----BEGIN NEW CERTIFICATE REQUEST-----\n"))
    let read = try fixture.spawn(
      "openssl", ["req", "-in", request, "-verify", "-noout", "-text", "-subject"])
    #expect(read.code == 0 && read.output.contains("challengePassword"), "\(read)")
    #expect(read.output.contains("CN = author.example"))
    let signing = [
      "repo", "certificate", "sign", "--key", "ts-master.key", "--cn", "Owner", request,
    ]
    _ = try awd(signing, in: fixture)
    let certificate = try fixture.spawn(
      "openssl", ["x509", "-in", "ts-certificate.pem", "-noout", "-text"]
    ).output
    for part in [
      "Serial Number: 1 (0x1)", "Issuer: CN = Owner", "Subject: CN = author.example",
      "Basic Constraints: critical\n                CA:FALSE, pathlen:0",
      "Key Usage: critical\n                Digital Signature\n", "Subject Key Identifier:",
      "Authority Key Identifier:", "Issuer Alternative Name: critical", "ecdsa-with-SHA256",
    ] { #expect(certificate.contains(part), "\(part)\n\(certificate)") }
    // Nothing is overwritten, and a request that doesn't hold is refused.
    _ = try awd(signing, in: fixture, code: 1)
    let other = String(decoding: try fixture.read(request), as: UTF8.self)
      .replacing("NEW CERTIFICATE", with: "CERTIFICATE")
    try fixture.write("other-label.pem", other)
    _ = try awd(
      signing.dropLast() + ["other-label.pem", "--output", "second.pem"], in: fixture)
    var der = try #require(
      Data(base64Encoded: other.split(separator: "\n").dropFirst().dropLast().joined()))
    der[der.count - 5] ^= 1
    try fixture.write(
      "broken.pem",
      "-----BEGIN CERTIFICATE REQUEST-----\n\(der.base64EncodedString())\n"
        + "-----END CERTIFICATE REQUEST-----\n")
    let refused = try awd(
      signing.dropLast() + ["broken.pem", "--output", "third.pem"], in: fixture, code: 1)
    #expect(refused.contains("signature does not hold"))
    #expect(!fixture.exists("third.pem"))

    // The master is the file's authority, for awd and for the engine.
    let signed = try sign(
      ["--key", "ts-signing.key", "--certificate", "ts-certificate.pem"], in: fixture)
    #expect(!signed.contains("warning"))
    let master = try PrivateKey(file: Array(Self.masterKey.utf8))
    let signature = try #require(
      try SignatureVerifier().verify(XMLDocument(parsing: fixture.read("t.tsml"))).last)
    #expect(signature.certificate?.delegator == master.publicKey)
    let point = master.publicKey.subjectPublicKeyInfo.suffix(65)
    let authority = point.map { String(format: "%02x", $0) }.joined()
    #expect(try engine("t.tsml", in: fixture).hasSuffix(" \(authority)"))
  }

  @Test func aProjectIsSignedAndVerified() throws {
    let fixture = try CommandsFixture()
    try fixture.write("project/tokenscript.xml", tokenScript(for: alice))
    try fixture.write("project/ts-signing.key", Self.signingKey)
    for command in [["sign"], ["verify"], ["publish", "--to", "http://127.0.0.1:1"]] {
      let output = try awd(["repo"] + command + ["project"], in: fixture, code: 1)
      #expect(output.contains("tokenscript build"), "\(output)")
    }
    try fixture.write("project/out/tokenscript.tsml", tokenScript(for: alice))
    let unsigned = try awd(["repo", "verify", "project"], in: fixture, code: 1)
    #expect(unsigned.contains("sign it"))
    _ = try awd(["repo", "sign", "project"], in: fixture)
    #expect(try fixture.read("project/out/tokenscript.tsml") == Array(tokenScript(for: alice).utf8))
    let report = try awd(["repo", "verify", "project/"], in: fixture)
    #expect(report.contains("project/out/tokenscript.signed.tsml: would be served"))
    #expect(try engine("project/out/tokenscript.signed.tsml", in: fixture).hasPrefix("signed"))
    #expect(!report.contains("sign it again"))
    // Built again, and not signed again.
    try fixture.write("project/out/tokenscript.tsml", tokenScript(for: alice))
    let stale = try awd(["repo", "verify", "project"], in: fixture)
    #expect(
      stale.contains("was built after it was signed: sign it again by awd repo sign 'project'"))
    for command in ["publish", "preview"] {
      let warned = try awd(
        ["repo", command, "project", "--to", "http://127.0.0.1:1"], in: fixture, code: 1)
      #expect(warned.contains("warning: project/out/tokenscript.tsml was built after"), "\(warned)")
    }
    // The project's certificate counts, unless another key is named.
    try fixture.write("project/ts-master.key", Self.masterKey)
    _ = try awd(
      [
        "repo", "certificate", "request", "--key", "project/ts-signing.key", "--cn", "a.example",
        "--output", "request.pem",
      ], in: fixture)
    _ = try awd(
      [
        "repo", "certificate", "sign", "--key", "project/ts-master.key", "--cn", "Owner",
        "--output", "project/ts-certificate.pem", "request.pem",
      ], in: fixture)
    _ = try awd(["repo", "sign", "project"], in: fixture)
    let signed = try SignatureVerifier().verify(
      XMLDocument(parsing: fixture.read("project/out/tokenscript.signed.tsml")))
    #expect(signed.last?.certificate?.commonName == "a.example")
    _ = try awd(["repo", "sign", "--key", "project/ts-master.key", "project"], in: fixture)
    let own = try SignatureVerifier().verify(
      XMLDocument(parsing: fixture.read("project/out/tokenscript.signed.tsml")))
    #expect(own.last?.certificate == nil)
  }

  /// Signs as the official tool does: inclusive canonical XML, the root's default namespace left out of SignedInfo.
  private func signAsTheTool(_ text: String, in fixture: CommandsFixture) throws -> String {
    let path = try fixture.write("unsigned.tsml", text)
    let script = Self.checker.replacing("official.py", with: "tool_sign.py")
    let result = try fixture.spawn("/usr/bin/python3", [script, path])
    #expect(result.code == 0, "\(result.errors)")
    return try fixture.write("tool.tsml", result.output)
  }

  @Test func aDefaultNamespaceOnTheRootIsNamedAsTheCause() throws {
    let fixture = try CommandsFixture()
    let plain = tokenScript(for: alice)
    let path = try signAsTheTool(plain, in: fixture)
    #expect(try engine(path, in: fixture).hasPrefix("signed"))
    #expect(try awd(["repo", "verify", path], in: fixture).contains("would be served"))

    let withDefault = plain.replacing(
      "<ts:token ", with: "<ts:token xmlns=\"http://www.w3.org/1999/xhtml\" ", maxReplacements: 1)
    let other = try signAsTheTool(withDefault, in: fixture)
    #expect(try engine(other, in: fixture).hasPrefix("signed"))
    let refused = try awd(["repo", "verify", other], in: fixture, code: 1)
    #expect(refused.contains("the default namespace (xmlns=) on the root is the cause"))
    // A file whose content was changed gets no such advice.
    let text = String(decoding: try fixture.read("tool.tsml"), as: UTF8.self)
    try fixture.write("tool.tsml", text.replacing("Coin", with: "Gold"))
    let changed = try awd(["repo", "verify", other], in: fixture, code: 1)
    #expect(!changed.contains("default namespace"))
  }

  @Test(arguments: ["2020/06", "2022/09", "2024/01"])
  func templatesSurviveEitherSigner(namespace: String) throws {
    let fixture = try CommandsFixture()
    _ = try awd(
      ["repo", "new", "--namespace", namespace, "--contract", alice, "new.tsml"], in: fixture)
    let text = String(decoding: try fixture.read("new.tsml"), as: UTF8.self)
    #expect(text.contains("http://tokenscript.org/\(namespace)/tokenscript"))
    let path = try signAsTheTool(text, in: fixture)
    #expect(try engine(path, in: fixture).hasPrefix("signed"))
    #expect(try awd(["repo", "verify", path], in: fixture).contains("would be served"))
    try fixture.write("ts-signing.key", Self.signingKey)
    _ = try awd(["repo", "sign", "--key", "ts-signing.key", "new.tsml"], in: fixture)
    #expect(try engine("new.tsml", in: fixture).hasPrefix("signed"))
  }

  @Test func sourcesAreToldToBeBuiltOrExpanded() throws {
    let fixture = try CommandsFixture()
    let placeholder = tokenScript(for: alice).replacing(alice, with: "$tst{CONTRACT_ADDRESS}")
    try fixture.write("source.tsml", placeholder)
    let built = try awd(["repo", "verify", "source.tsml"], in: fixture, code: 1)
    #expect(built.contains("tokenscript build") && built.contains("out/tokenscript.tsml"))
    #expect(!built.contains("sign it") && !built.contains("name the contract"))
    let entities = tokenScript(for: alice).replacing(
      "<ts:token", with: "<!DOCTYPE token [<!ENTITY a \"b\">]>\n<ts:token", maxReplacements: 1)
    try fixture.write("old.xml", entities)
    let expanded = try awd(["repo", "verify", "old.xml"], in: fixture, code: 1)
    #expect(expanded.contains("xmllint --noent --dropdtd --output 'old-expanded.tsml' 'old.xml'"))
  }

  @Test(arguments: ["01", "+1", " 1\n", "0001"])
  func networksAreIntegers(network: String) throws {
    let fixture = try CommandsFixture()
    let text = tokenScript(for: alice).replacing("network=\"1\"", with: "network=\"\(network)\"")
    try fixture.write("t.tsml", Signer.issuer.sign(text, at: 1_600_000_000))
    #expect(try awd(["repo", "verify", "t.tsml"], in: fixture).contains("on chain 1"))
  }

  @Test(arguments: ["0", "-1", "1.0", "0x1", "٣", "+", ""])
  func otherNetworksAreNoChain(network: String) throws {
    let fixture = try CommandsFixture()
    let text = tokenScript(for: alice).replacing("network=\"1\"", with: "network=\"\(network)\"")
    try fixture.write("t.tsml", Signer.issuer.sign(text, at: 1_600_000_000))
    #expect(
      try awd(["repo", "verify", "t.tsml"], in: fixture, code: 1).contains("would serve nothing"))
  }

  @Test(arguments: ["tok:", ""])
  func anotherPrefixIsAWarning(prefix: String) throws {
    let fixture = try CommandsFixture()
    let text = tokenScript(for: alice).replacing("ts:", with: prefix)
      .replacing("xmlns:ts=", with: prefix.isEmpty ? "xmlns=" : "xmlns:tok=")
    try fixture.write("t.tsml", Signer.issuer.sign(text, at: 1_600_000_000))
    let report = try awd(["repo", "verify", "t.tsml"], in: fixture)
    #expect(report.contains("would be served") && report.contains("another prefix than ts:"))
  }

  // MARK: The guide

  /// Runs the five commands of the guide as they stand, but for the server's URL.
  @Test func theGuidesCommandsWork() async throws {
    let guide = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/awd/awd.docc/OfficialTool.md")
    let text = try String(contentsOf: guide, encoding: .utf8)
    let block = try #require(text.firstMatch(of: /```sh\n([^`]*)```/)?.1)
    let commands = block.split(separator: "\n").map(String.init)
    #expect(commands.count == 5 && commands.allSatisfy { $0.hasPrefix("awd repo ") })

    let fixture = try CommandsFixture()
    try fixture.write(
      "awd.toml",
      """
      [tokenscript]
      repository = "repository"
      hosts = ["localhost"]
      [tokenscript.publish]
      policy = "open"
      """)
    let server = try ChildProcess.awd(
      ["serve", "--config", "\(fixture.folder)/awd.toml"], home: fixture.folder,
      environment: ["AWD_SERVER_LISTEN": "127.0.0.1:0"])
    let line = try await server.line(with: "listening at=http://")
    let port = try #require(line.firstMatch(of: /127\.0\.0\.1:([1-9][0-9]+)/)?.1)
    try fixture.write("project/tokenscript.xml", tokenScript(for: alice))
    try fixture.write("project/ts-signing.key", Self.signingKey)
    try fixture.write("project/ts-master.key", Self.masterKey)
    try fixture.write("project/out/tokenscript.tsml", tokenScript(for: alice))
    let program = try CommandsFixture.program()
    for command in commands {
      let here = command.replacing("https://repo.example", with: "http://localhost:\(port)")
      let script = "awd() { '\(program)' \"$@\"; }; cd project; \(here)"
      let result = try fixture.spawn("/bin/sh", ["-ec", script])
      #expect(result.code == 0, "\(here): \(result.output)\(result.errors)")
    }
    let url = "http://localhost:\(port)/2019/05/\(alice)"
    let served = try fixture.spawn("curl", ["-sf", url])
    #expect(
      Array(served.output.utf8) == (try fixture.read("project/out/tokenscript.signed.tsml")))
  }
}
