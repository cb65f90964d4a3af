internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import Observability
internal import Synchronization
internal import TestSupport
internal import Testing
internal import Platform
internal import Formats
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of hostile files: each becomes a refused row and a line of the log, and does no harm.
@Suite(.ownThreads) struct HostileFilesTests {
  private let fixture: RepositoryFixture
  private let good: [UInt8]

  init() throws {
    fixture = try RepositoryFixture()
    good = try Signer.shop.sign(tokenScript(for: alice), at: 1_550_000_000)
    try fixture.write("good.tsml", bytes: good)
  }

  /// Makes the index, and checks that these files are refused and the good one is served.
  private func expectRefusal(of paths: Set<String>, because reasons: [String]? = nil) async throws {
    let logPath = "\(fixture.folder)/log"
    let descriptor = open(logPath, O_CREAT | O_WRONLY | O_APPEND, 0o644)
    defer { close(descriptor) }
    let log = Log(level: .warning, descriptor: descriptor)
    let server = try await fixture.server(log: log)
    #expect(try await server.get("/2019/05/\(alice)").bytes == good)
    #expect(try await server.get("/\(bob)").status == .notFound)
    struct Listing: Decodable {
      struct Row: Decodable { let path, state: String }
      let contracts: [Row]
    }
    let json = try await server.get("/", ["Accept": "application/json"])
    let rows = try JSONDecoder().decode(Listing.self, from: Data(json.bytes)).contracts
    let refused = rows.filter { $0.state.hasPrefix("refused because ") }
    #expect(Set(refused.map(\.path)) == paths)
    for reason in reasons ?? [] {
      #expect(refused.contains { $0.state.contains(reason) }, "\(reason): \(refused)")
    }
    log.flush(within: .seconds(60))
    let lines = try String(contentsOfFile: logPath, encoding: .utf8)
    for path in paths { #expect(lines.contains(path), "\(path) is not in the log") }
  }

  @Test func whatIsNotToBeParsed() async throws {
    let signed = try Signer.shop.sign(tokenScript(for: bob), at: 1_550_000_000)
    let text = String(decoding: signed, as: UTF8.self)
    let start = try #require(text.range(of: "?>")).upperBound
    func declaring(_ subset: String, _ entity: String = "") -> [UInt8] {
      Array(
        (text[..<start] + "<!DOCTYPE token \(subset)>"
          + text[start...].replacing("Coin", with: entity)).utf8)
    }
    var laughs = "<!ENTITY a0 \"laugh\">"
    for level in 1..<20 {
      laughs +=
        "<!ENTITY a\(level) \"\(String(repeating: "&a\(level - 1);", count: 10))\">"
    }
    let deep =
      String(repeating: "<ts:x>", count: 10_000) + String(repeating: "</ts:x>", count: 10_000)
    let files: [String: [UInt8]] = [
      "truncated": Array(signed.dropLast(20)),
      "empty": [],
      "large": Array(
        text.replacing("<!---->", with: "<!--\(String(repeating: "x", count: 9 << 20))-->").utf8),
      "deep": Array(text.replacing("<ts:origins>", with: deep + "<ts:origins>").utf8),
      "laughs": declaring("[\(laughs)]", "&a19;"),
      "entity": declaring("[<!ENTITY x SYSTEM \"file:///etc/passwd\">]", "&x;"),
      "parameter": declaring("[<!ENTITY % x SYSTEM \"http://127.0.0.1:1/x\"> %x;]"),
      "external": declaring("SYSTEM \"http://127.0.0.1:1/x.dtd\""),
      "utf16": [0xff, 0xfe] + text.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] },
      "overlong": Array(text.utf8).replacing(Array("Coin".utf8), with: [0xc0, 0xaf]),
      "latin1": Array(text.replacing("UTF-8", with: "ISO-8859-1").utf8),
      "surrogate": Array(text.utf8).replacing(Array("Coin".utf8), with: [0xed, 0xa0, 0x80]),
      "zero": Array(text.utf8).replacing(Array("Coin".utf8), with: [0]),
    ]
    for (name, bytes) in files { try fixture.write("\(name).tsml", bytes: bytes) }
    // Each file is alone in its folder, so that it is refused for its own fault.
    try await expectRefusal(
      of: Set(files.keys.map { "\($0).tsml" }),
      because: [
        "not well-formed", "8388608 are allowed", "too many levels", "document type", "not UTF-8",
      ])
  }

  @Test func whatIsNoFileOfTheRepository() async throws {
    try #require(mkfifo("\(fixture.root)/pipe.tsml", 0o644) == 0)
    try fixture.write(
      "../outside/secret.tsml",
      bytes: try Signer.shop.sign(tokenScript(for: bob), at: 1_550_000_000))
    try fixture.link("out.tsml", to: "../outside/secret.tsml")
    try fixture.link("device.tsml", to: "/dev/zero")
    try await expectRefusal(of: ["pipe.tsml", "out.tsml", "device.tsml"])
  }

  @Test func aForeignCertificateBesideTheKey() async throws {
    let signed = try Signer.issuer.sign(tokenScript(for: bob), at: 1_550_000_000)
    let certificate = try #require(
      try Certificate.certificates(pem: Signer.rival.key.certificatePEM).first)
    let text = String(decoding: signed, as: UTF8.self).replacing(
      "</ds:KeyInfo>",
      with: "<ds:X509Data><ds:X509Certificate>\(Data(certificate.der).base64EncodedString())"
        + "</ds:X509Certificate></ds:X509Data></ds:KeyInfo>")
    try fixture.write("foreign.tsml", text)
    try await expectRefusal(of: ["foreign.tsml"], because: ["key can't be used"])
  }

  // MARK: Files that xmlsec1 accepts

  /// A way to sign a file that the repository must refuse although xmlsec1 accepts it.
  enum Trick: CaseIterable {
    case xpath, xslt, envelopedProperties, sha1, hmac, weakKey, part
  }

  @Test(arguments: Trick.allCases)
  func whatXmlsec1AcceptsMustYetCoverTheDocument(trick: Trick) async throws {
    let key = try Key(bits: trick == .weakKey ? 1024 : 2048, in: fixture.folder)
    var signed = try key.sign(Self.template(trick), trick)
    if trick == .envelopedProperties {
      signed = signed.replacing("2019-02-12T", with: "2024-01-01T")
    }
    if trick == .part { signed = signed.replacing("<ts:origins>", with: "<ts:label/><ts:origins>") }
    let file = "\(fixture.folder)/trick.xml"
    try signed.write(toFile: file, atomically: true, encoding: .utf8)
    let verified = try await ChildProcess.run("xmlsec1", ["--verify"] + key.options(trick) + [file])
    #expect(verified.code == 0, "\(verified)")
    // The key by which the repository verifies stands in the file.
    signed = signed.replacing("<ds:KeyName/>", with: key.certificate)
    try fixture.write("trick.tsml", signed)
    try await expectRefusal(of: ["trick.tsml"], because: ["signature"])
  }

  /// A file that is signed the same way without a trick is served, so the trick is the reason for the refusal.
  @Test func whatXmlsec1SignsIsServed() async throws {
    let key = try Key(bits: 2048, in: fixture.folder)
    let signed = try key.sign(Self.template(nil), nil)
      .replacing("<ds:KeyName/>", with: key.certificate)
    try fixture.write("signed.tsml", signed)
    let server = try await fixture.server()
    let response = try await server.get("/2019/05/\(bob)")
    #expect(response.text == signed)
    #expect(response[.lastModified] == HTTPDate(1_550_000_000).text)
  }

  private static func template(_ trick: Trick?) -> String {
    let signature = "http://www.w3.org/2000/09/xmldsig#"
    let more = "http://www.w3.org/2001/04/xmldsig-more#"
    let exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#"
    let digest =
      trick == .sha1 ? "\(signature)sha1" : "http://www.w3.org/2001/04/xmlenc#sha256"
    let method =
      switch trick {
      case .sha1: "\(signature)rsa-sha1"
      case .hmac: "\(more)hmac-sha256"
      default: "\(more)rsa-sha256"
      }
    func transform(_ algorithm: String, _ content: String = "") -> String {
      "<ds:Transform Algorithm=\"\(algorithm)\">\(content)</ds:Transform>"
    }
    let enveloped = transform("\(signature)enveloped-signature")
    let last =
      switch trick {
      case .xpath:
        transform(
          "http://www.w3.org/TR/1999/REC-xpath-19991116",
          "<ds:XPath>ancestor-or-self::*[local-name()='origins']</ds:XPath>")
      case .xslt:
        transform(
          "http://www.w3.org/TR/1999/REC-xslt-19991116",
          "<xsl:stylesheet xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\" version=\"1.0\">"
            + "<xsl:template match=\"/\"><constant/></xsl:template></xsl:stylesheet>")
      default: transform(exclusive)
      }
    func reference(_ attributes: String, _ transforms: String) -> String {
      "<ds:Reference \(attributes)><ds:Transforms>\(transforms)</ds:Transforms>"
        + "<ds:DigestMethod Algorithm=\"\(digest)\"/><ds:DigestValue/></ds:Reference>"
    }
    let body =
      trick == .part
      ? reference("URI=\"#body\"", transform(exclusive)) : reference("URI=\"\"", enveloped + last)
    let properties = reference(
      "URI=\"#properties\" Type=\"http://uri.etsi.org/01903#SignedProperties\"",
      trick == .envelopedProperties ? enveloped : transform(exclusive))
    let element = """
      <ds:Signature xmlns:ds="\(signature)"><ds:SignedInfo>\
      <ds:CanonicalizationMethod Algorithm="\(exclusive)"/>\
      <ds:SignatureMethod Algorithm="\(method)"/>\(body)\(properties)</ds:SignedInfo>\
      <ds:SignatureValue/><ds:KeyInfo><ds:KeyName/></ds:KeyInfo><ds:Object>\
      <xades:QualifyingProperties xmlns:xades="http://uri.etsi.org/01903/v1.3.2#">\
      <xades:SignedProperties Id="properties"><xades:SignedSignatureProperties>\
      <xades:SigningTime>2019-02-12T19:33:20Z</xades:SigningTime>\
      </xades:SignedSignatureProperties></xades:SignedProperties></xades:QualifyingProperties>\
      </ds:Object></ds:Signature>
      """
    return tokenScript(for: bob)
      .replacing("<ts:contract ", with: "<ts:contract Id=\"body\" ")
      .replacing("</ts:token>", with: element + "</ts:token>")
  }

  /// An RSA key in files, in the form that xmlsec1 reads.
  private struct Key {
    let folder: String
    /// X509Data with the certificate.
    let certificate: String

    init(bits: Int, in folder: String) throws {
      self.folder = folder
      let made = try ChildProcess.run(
        "openssl",
        [
          "req", "-x509", "-newkey", "rsa:\(bits)", "-nodes", "-subj", "/CN=trick.example",
          "-days", "2", "-keyout", "\(folder)/key.pem", "-out", "\(folder)/certificate.pem",
        ])
      try #require(made.code == 0, "\(made)")
      let pem = try String(contentsOfFile: "\(folder)/certificate.pem", encoding: .utf8)
      let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
      certificate =
        "<ds:X509Data><ds:X509Certificate>\(base64)</ds:X509Certificate></ds:X509Data>"
      let key = try ChildProcess.run(
        "openssl", ["x509", "-in", "\(folder)/certificate.pem", "-pubkey", "-noout"])
      try key.output.write(toFile: "\(folder)/public.pem", atomically: true, encoding: .utf8)
    }

    /// A signature by HMAC with the signer's public key, which everybody has.
    func options(_ trick: Trick?, toSign: Bool = false) -> [String] {
      let key =
        trick == .hmac
        ? ["--hmackey", "\(folder)/public.pem"]
        : toSign
          ? ["--privkey-pem", "\(folder)/key.pem"] : ["--pubkey-pem", "\(folder)/public.pem"]
      return key + [
        "--enabled-key-data", "key-name",
        "--id-attr:Id", "http://uri.etsi.org/01903/v1.3.2#:SignedProperties",
        "--id-attr:Id", "http://tokenscript.org/2019/05/tokenscript:contract",
      ]
    }

    func sign(_ template: String, _ trick: Trick?) throws -> String {
      let file = "\(folder)/template.xml"
      try template.write(toFile: file, atomically: true, encoding: .utf8)
      let result = try ChildProcess.run(
        "xmlsec1",
        ["--sign"] + options(trick, toSign: true) + ["--output", "\(folder)/signed.xml", file])
      try #require(result.code == 0, "\(result)")
      return try String(contentsOfFile: "\(folder)/signed.xml", encoding: .utf8)
        .replacing("<ds:KeyName></ds:KeyName>", with: "<ds:KeyName/>")
    }
  }

  // MARK: Changing files, and many files

  @Test func aFileThatGrowsWhileItIsReadIsReadWholeOrNotAtAll() async throws {
    let path = "\(fixture.root)/growing.tsml"
    let isOver = Flag()
    let writer = Task {
      try await ThreadPool(named: "child").run {
        let descriptor = open(path, O_CREAT | O_WRONLY | O_APPEND, 0o644)
        defer { close(descriptor) }
        // Pieces fit into pages, because the file grows page by page, and would show a part of a piece across two.
        let piece = [UInt8](repeating: 0x78, count: 1024)
        var size = 0
        while !isOver.isSet {
          if size > 4 << 20 {
            ftruncate(descriptor, 0)
            size = 0
          }
          size += write(descriptor, piece, piece.count)
        }
      }
    }
    let folder = try RepositoryFolder(fixture.root)
    let place = RepositoryPath("growing.tsml")
    for _ in 0..<300 {
      // A reading meanwhile has the bytes of one moment: a whole number of pieces.
      guard let contents = try? folder.read(.init(path: place, location: place)) else { continue }
      #expect(contents.bytes.count % 1024 == 0)
      #expect(contents.bytes.array.allSatisfy { $0 == 0x78 })
    }
    let server = try await fixture.server()
    #expect(try await server.get("/\(alice)").bytes == good)
    isOver.set()
    try await writer.value
  }

  private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
  }

  @Test func manySmallFiles() async throws {
    let count = 20_000
    for number in 0..<count {
      let path = "\(fixture.root)/\(number).tsml"
      let descriptor = open(path, O_CREAT | O_WRONLY, 0o644)
      let text = "<a n='\(number)'/>"
      try #require(write(descriptor, text, text.utf8.count) == text.utf8.count)
      close(descriptor)
    }
    let server = try await fixture.server()
    #expect(try await server.get("/\(alice)").bytes == good)
    let metrics = server.metrics.render()
    #expect(metrics.contains("awd_tokenscript_files{state=\"refused\"} \(count)\n"))
    #expect(metrics.contains("awd_tokenscript_files{state=\"served\"} 1\n"))
  }
}
