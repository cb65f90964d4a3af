internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// Tests of wallets' reports of files that they have not taken.
@Suite(.ownThreads) struct ReportResponderTests {
  private let fixture: RepositoryFixture
  private static let base = "https://repo.example"
  private static let url = "\(base)/2020/06/chain/1/\(alice)"

  init() throws {
    fixture = try RepositoryFixture()
    try fixture.write("a.tsml", bytes: Self.file)
  }

  private static let file: [UInt8] = {
    do { return try Signer.shop.sign(tokenScript("2020/06", for: alice), at: 1_600_000_000) } catch
    {
      preconditionFailure("\(error)")
    }
  }()
  private static let digest = SHA256.hash(file).hex
  private static let other = String(repeating: "0a", count: 32)

  private func body(
    _ url: String = Self.url, _ sha256: String = Self.digest, _ reason: String = "signature",
    detail: String? = nil
  ) throws -> [UInt8] {
    var object = ["url": url, "sha256": sha256, "reason": reason]
    object["detail"] = detail
    return Array(try JSONEncoder().encode(object))
  }

  private func post(
    _ server: RepositoryServer, _ body: [UInt8], from peer: String = "192.0.2.1",
    host: String = "repo.example"
  ) async throws -> Response {
    let head = try RequestHead(
      method: .post, path: "/tokenscript/report", authority: host, fields: [])
    return await server.table.respond(
      to: Request(head: head, body: body, origin: RequestOrigin(peer: peer)))
  }

  /// Runs a server, and returns the lines of its log.
  private func logged(
    _ toml: String = "", _ body: (RepositoryServer) async throws -> Void
  ) async throws -> String {
    let path = "\(fixture.folder)/log"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(descriptor) }
    let log = Log(level: .info, descriptor: descriptor)
    try await body(try await fixture.server(toml, publicURL: Self.base, log: log))
    log.flush()
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  @Test func aKnownFileIsVerifiedAnewOnceAnHour() async throws {
    let log = try await logged { server in
      for number in 0..<4 {
        // Other networks change nothing about it.
        let response = try await post(server, body(), from: "192.0.2.\(number)")
        #expect(response.status == .accepted && response.text == "{\"known\":true}")
        #expect(response[.accessControlAllowOrigin] == "*")
        fixture.time.withLock { $0 += number == 2 ? 3600 : 1 }
      }
      let metrics = server.metrics.render()
      #expect(metrics.contains("awd_tokenscript_reports_total{known=\"true\"} 4"))
      #expect(metrics.contains("awd_tokenscript_reports_total{known=\"false\"} 0"))
    }
    #expect(log.split(separator: "\n").count { $0.contains("the reported file holds") } == 2)
    #expect(!log.contains(" warning "))
  }

  @Test func anUnknownFileIsAWarning() async throws {
    let log = try await logged { server in
      let detail = "\u{1b}[2J\n2026-01-01 error forged=\"x\" \u{202e}\u{2066}é"
      let response = try await post(
        server, body(Self.url + "?signer=shop.example", Self.other, "other", detail: detail))
      #expect(response.status == .accepted && response.text == "{\"known\":false}")
      #expect(
        server.metrics.render().contains("awd_tokenscript_reports_total{known=\"false\"} 1"))
    }
    let lines = log.split(separator: "\n").filter { $0.contains(" warning ") }
    #expect(lines.count == 1 && lines[0].contains("sha256=\(Self.other) reason=other"))
    #expect(lines[0].contains("detail=\"\\u001b[2J\\n2026-01-01 error forged=\\\"x\\\" "))
    #expect(log.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 32 && $0 != "\u{202e}" })
  }

  /// A file that held when it was read, and fails by the rules of now.
  @Test func aFileThatFailsIsAWarning() async throws {
    try fixture.write("b.tsml", tokenScript("2020/06", for: bob))
    let digest = SHA256.hash(Array(tokenScript("2020/06", for: bob).utf8)).hex
    let log = try await logged("signature = \"warn\"\ntrust = \"off\"") { server in
      let response = try await post(server, body("\(Self.base)/\(bob)", digest))
      #expect(response.text == "{\"known\":true}")
    }
    #expect(log.contains("a wallet refused a file") && log.contains("the reported file"))
  }

  private static func text(_ parts: String...) -> [UInt8] { Array(parts.joined().utf8) }

  private static let malformed: [[UInt8]] = [
    [], text("{}"), text("[]"), text("null"), text("{"), [0xff, 0xfe],
    text("{\"url\":1,\"sha256\":\"\(digest)\",\"reason\":\"other\"}"),
    text("{\"url\":\"\(url)\",\"sha256\":\"\(digest)\"}"),
    text("{\"url\":\"\(url)\",\"sha256\":\"\(digest)\",\"reason\":\"none\"}"),
    text("{\"url\":\"\(url)\",\"sha256\":\"\(digest)0\",\"reason\":\"other\"}"),
    text("{\"url\":\"\(url)\",\"sha256\":\"x\",\"reason\":\"other\"}"),
    text(
      "{\"url\":\"\(url)\",\"sha256\":\"\(digest)\",\"reason\":\"other\",\"detail\":\"",
      String(repeating: "x", count: 201), "\"}"),
    text(String(repeating: "[", count: 4000)),
  ]

  @Test func whatIsMalformedIsRefused() async throws {
    let server = try await fixture.server(publicURL: Self.base)
    for body in Self.malformed {
      #expect(
        try await post(server, body).status == .badRequest,
        "\(String(decoding: body, as: UTF8.self))")
    }
    for foreign in [
      "https://evil.example/\(alice)", "http://repo.example/\(alice)", "/\(alice)", "",
      "https://repo.example.evil.example/\(alice)", "https://repo.example@evil.example/\(alice)",
      "https://repo.example:444/\(alice)", "\(Self.base)/", "\(Self.base)/contracts/1/\(alice)",
      "\(Self.base)/preview/AAAAAAAAAAAAAAAAAAAAAA", "\(Self.base)/2020/06/tokenscript.xsd",
      "\(Self.base)/\(alice)#x", "\(Self.base)/\(alice)?x=1", "\(Self.base)/\(alice)?chain=0",
      "\(Self.base)/../\(alice)", "\(Self.base)/\(alice)\r\nHost: x", "javascript:alert(1)",
    ] {
      #expect(try await post(server, body(foreign)).status == .badRequest, "\(foreign)")
    }
    for absent in [
      "\(Self.base)/\(bob)", "\(Self.base)/2019/05/\(alice)", "\(Self.base)/chain/5/\(alice)",
      "\(Self.base)/\(alice)?signer=nobody",
    ] {
      #expect(try await post(server, body(absent)).status == .notFound, "\(absent)")
    }
    // A byte more than the limit.
    let long = try body(detail: "x")
    let padding = [UInt8](repeating: 0x20, count: 4097 - long.count)
    #expect(try await post(server, long + padding).status == .contentTooLarge)
    #expect(try await post(server, long + padding.dropLast()).status == .accepted)
    // None of them was counted.
    for _ in 0..<9 { #expect(try await post(server, body()).status == .accepted) }
    #expect(try await post(server, body()).status == .tooManyRequests)
  }

  @Test func theURLIsOneOfThisServer() async throws {
    let server = try await fixture.server(hosts: ["repo.example"])
    for (host, url, status) in [
      ("repo.example", "http://repo.example/\(alice)", 202),
      ("Repo.Example", "http://REPO.example/\(alice).tsml", 202),
      ("evil.example", "http://evil.example/\(alice)", 404),
    ] {
      #expect(
        try await Int(post(server, body(url), host: host).status.code) == status, "\(url)")
    }
  }

  @Test func aFloodIsRefused() async throws {
    let server = try await fixture.server(publicURL: Self.base)
    let body = try body(Self.url, Self.other)
    let statuses = try await withThrowingTaskGroup(of: Response.self) { group in
      for _ in 0..<300 { group.addTask { try await post(server, body) } }
      return try await group.reduce(into: [:]) { $0[$1.status, default: 0] += 1 }
    }
    #expect(statuses == [.accepted: 10, .tooManyRequests: 290])
    let refused = try await post(server, body)
    #expect(refused[.retryAfter] == "3600")
    #expect(try await post(server, body, from: "198.51.100.1").status == .accepted)
    // Another node of the same store, or this one after a restart, counts on.
    let again = try await fixture.server(publicURL: Self.base)
    #expect(try await post(again, body).status == .tooManyRequests)
    fixture.time.withLock { $0 += 3600 }
    #expect(try await post(again, body).status == .accepted)
  }
}
