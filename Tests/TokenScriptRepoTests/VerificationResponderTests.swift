internal import Formats
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Routing
internal import Synchronization
internal import Platform
internal import TestSupport
internal import Testing
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of `POST /api/v1/verifyXMLDSig`.
@Suite(.ownThreads) struct VerificationResponderTests {
  private let fixture: RepositoryFixture
  private let signed: [UInt8]
  private let roots: String

  init() throws {
    fixture = try RepositoryFixture()
    signed = try Signer.shop.sign(tokenScript(for: alice), at: 1_550_000_000)
    let path = "\(fixture.folder)/roots.pem"
    try Data(Signer.shop.key.certificatePEM).write(to: URL(filePath: path))
    roots = "roots = \"\(path)\""
  }

  private struct Verdict: Decodable, Equatable {
    let result: String
    var issuer, subject, keyName, keyType, failureReason: String?
  }

  private func form(_ content: [UInt8], name: String = "file") -> [UInt8] {
    Array("--b\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"a\"\r\n\r\n".utf8)
      + content + Array("\r\n--b--\r\n".utf8)
  }

  private func post(
    _ server: RepositoryServer, _ body: [UInt8], type: String = "multipart/form-data; boundary=b"
  ) async throws -> Response {
    let head = try RequestHead(
      method: .post, path: "/api/v1/verifyXMLDSig", authority: "localhost",
      fields: [("Content-Type", type)])
    return await server.table.respond(
      to: Request(head: head, body: body, origin: RequestOrigin(peer: "127.0.0.1")))
  }

  private func verdict(_ response: Response) throws -> Verdict {
    #expect(response[.contentType] == "application/json")
    #expect(response[.accessControlAllowOrigin] == "*")
    return try JSONDecoder().decode(Verdict.self, from: Data(response.bytes))
  }

  @Test func aTrustedSignerPasses() async throws {
    let server = try await fixture.server(roots)
    let response = try await post(server, form(signed))
    #expect(response.status == .accepted)
    let name = "CN=shop.example"
    #expect(
      try verdict(response)
        == Verdict(
          result: "pass", issuer: name, subject: name,
          keyName: try Signer.shop.identifier(), keyType: "SHA256withECDSA"))
  }

  /// KeyInfo is not signed, so anybody may write a name for the key into a signed file.
  @Test func aNameThatIsNotSignedIsNotTold() async throws {
    let server = try await fixture.server(roots)
    let named = String(decoding: signed, as: UTF8.self)
      .replacing("<ds:KeyInfo>", with: "<ds:KeyInfo><ds:KeyName>shop &amp; co</ds:KeyName>")
    let verdict = try await verdict(post(server, form(Array(named.utf8))))
    #expect(try verdict.keyName == Signer.shop.identifier())
  }

  @Test func whatHoldsNoWaterFails() async throws {
    let server = try await fixture.server(roots)
    let changed = String(decoding: signed, as: UTF8.self).replacing("2019/05", with: "2019/06")
    let rival = try Signer.rival.sign(tokenScript(for: alice), at: 1_550_000_000)
    let bare = try Signer.issuer.sign(tokenScript(for: alice), at: 1_550_000_000)
    for (file, reason) in [
      (Array(changed.utf8), "changed"), (rival, "not trusted"), (bare, "not trusted"),
      (Array(tokenScript(for: alice).utf8), "not signed"), (Array("<a".utf8), "well-formed"),
      (Array("<a/>".utf8), "namespace"), ([], "well-formed"),
    ] {
      let response = try await post(server, form(file))
      #expect(response.status == .badRequest)
      let verdict = try verdict(response)
      #expect(verdict.result == "fail")
      #expect(verdict.failureReason?.contains(reason) == true, "\(verdict)")
      #expect(verdict.subject == nil)
    }
    for (body, type) in [
      (form(signed), "text/xml"), (form(signed, name: "other"), "multipart/form-data; boundary=b"),
      (signed, "multipart/form-data; boundary=b"), (form(signed), "multipart/form-data"),
    ] {
      let response = try await post(server, body, type: type)
      #expect(response.status == .badRequest)
      #expect(try verdict(response).result == "fail")
    }
  }

  /// The verification requires the signature even if the repository does not, and trust unless the configuration says
  /// otherwise.
  @Test(arguments: [
    ("", false), ("trust = \"off\"", false), ("signature = \"off\"\ntrust = \"off\"", false),
    ("verify_untrusted = true", true),
    ("verify_untrusted = true\nsignature = \"off\"\ntrust = \"off\"", true),
    ("verify_untrusted = true\ntrust = \"require\"", false),
  ])
  func untrustedSignersPassOnlyWhereTheyMay(setting: String, passes: Bool) async throws {
    let server = try await fixture.server(setting)
    let response = try await post(server, form(signed))
    #expect(response.status == (passes ? .accepted : .badRequest))
    let unsigned = try await post(server, form(Array(tokenScript(for: alice).utf8)))
    #expect(unsigned.status == .badRequest)
  }

  @Test func theBodyMayBeAsLongAsAFile() async throws {
    let server = try await fixture.server(roots)
    let frame = form([]).count
    let most = [UInt8](repeating: 0x20, count: (8 << 20) - frame)
    #expect(try await post(server, form(most)).status == .badRequest)
    #expect(try await post(server, form(most + [0x20])).status == .contentTooLarge)
    #expect(try await server.get("/api/v1/verifyXMLDSig").status == .methodNotAllowed)
  }

  /// Sends a form over a socket with curl, an independent client.
  @Test func curlSendsAForm() async throws {
    try fixture.write("a.tsml", bytes: signed)
    try fixture.write("b.tsml", tokenScript(for: bob))
    let server = try await fixture.server(roots)
    let http = try WebServer(
      options: ServerOptions(endpoints: [.tcp(.loopback, port: 0)]),
      responder: server.table, report: { _ in })
    try http.start()
    guard case .tcp(_, let port)? = http.endpoints.first else { throw SystemError(0) }
    let root = fixture.root
    func curl(_ file: String) async throws -> String {
      try await ChildProcess.run(
        "curl",
        [
          "-s", "-m", "60", "-w", "%{http_code}", "-F",
          "file=@\(root)/\(file);filename=\"odd \\\"name\\\".tsml\"",
          "http://127.0.0.1:\(port)/api/v1/verifyXMLDSig",
        ]
      ).output
    }
    let good = try await curl("a.tsml")
    #expect(good.hasSuffix("202"))
    #expect(good.contains("\"result\":\"pass\""))
    #expect(good.contains("\"subject\":\"CN=shop.example\""))
    let bad = try await curl("b.tsml")
    #expect(bad.hasSuffix("400"))
    #expect(bad.contains("\"failureReason\":\"not signed"))
    await http.drain(within: .seconds(5))
  }

  @Test func onlySoManyAtOnceAndAFewMoreWait() async throws {
    let threads = ThreadPool(named: "test", width: 2, queue: 3)
    let work = Work()
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<9 {
        group.addTask {
          do {
            try await threads.run(for: nil, orRefuseWith: "busy") { work.run() }
            return true
          } catch {
            #expect((error as? HTTPError)?.status == .serviceUnavailable)
            work.refuse()
            return false
          }
        }
      }
      #expect(await group.reduce(0) { $0 + ($1 ? 1 : 0) } == 5)
    }
    #expect(work.most.load(ordering: .relaxed) == 2)
    // Work that throws makes room too.
    for _ in 0..<5 {
      await #expect(throws: SystemError.self) {
        try await threads.run(for: nil, orRefuseWith: "busy") { throw SystemError(1) }
      }
    }
    #expect(try await threads.run(for: nil, orRefuseWith: "busy") { 1 } == 1)
  }

  /// Work that does not end before four of nine requests are refused.
  private final class Work: Sendable {
    let most = Atomic<Int>(0)
    private let running = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)

    func run() {
      most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      #expect(throws: Never.self) {
        try blockUntil {
          refused.load(ordering: .acquiring) >= 4 && most.load(ordering: .relaxed) >= 2
        }
      }
      running.subtract(1, ordering: .relaxed)
    }

    func refuse() { refused.add(1, ordering: .releasing) }
  }
}
