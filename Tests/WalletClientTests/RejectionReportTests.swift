internal import Cryptography
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import WalletClient

/// Tests of what the agent tells a repository of its files, over sockets.
@Suite(.ownThreads) struct RejectionReportTests {
  private let files = TemporaryFolder()
  private let cache = TemporaryFolder()
  private static let problem = "its signature fails: there is no signature"

  private func agent(
    _ url: String, reports: Bool = true, schemaCheck: TokenScriptAgent.SchemaCheck? = nil
  ) throws -> TokenScriptAgent {
    try TokenScriptAgent(
      repository: url, cache: cache.path, schemaCheck: schemaCheck, reportsRejections: reports,
      log: Log(level: .error))
  }

  @Test func aRepositoryIsToldOfItsOwnFile() async throws {
    try files.write("a.tsml", Array(tokenScript().utf8))
    let toml = "signature = \"off\"\ntrust = \"off\""
    try await withRepository(toml, files) { repository in
      let report = try await agent(repository.url).fetch(request())
      #expect(report.outcome == .invalid)
      #expect(report.attempts[0].result.hasSuffix("; reported: the repository has this file"))
      let quiet = try await agent(repository.url, reports: false).fetch(request())
      #expect(quiet.attempts[0].result == "rejected: \(Self.problem)")
    }
  }

  /// A repository behind somebody who changes its files, and sees the reports.
  private final class Between: Responder {
    let bodies = Lock<[[UInt8]]>([])
    private let file: [UInt8]
    private let status: Status

    init(_ file: [UInt8], _ status: Status) {
      self.file = file
      self.status = status
    }

    func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
      let isReport = head.path.elementsEqual("/tokenscript/report".utf8)
      return .respond(bodyLimit: 4096) { [self] request in
        guard isReport else { return .file(file) }
        bodies.withLock { $0.append(request.body) }
        var response = Response(status, body: .array(Array("{\"known\":false}".utf8)))
        response.fields.append(.location, "http://127.0.0.1:1/")
        return response
      }
    }
  }

  private struct Sent: Decodable, Equatable {
    let url, sha256, reason, detail: String
  }

  @Test(
    arguments: [
      (.accepted, "reported: the repository has no such file, so it was changed on the way"),
      (.tooManyRequests, "not reported (429)"), (Status(307), "not reported (307)"),
      (.noContent, "not reported (204)"),
    ] as [(Status, String)])
  func whatHasChangedOnTheWayIsTold(_ status: Status, _ words: String) async throws {
    let forged = Array(
      tokenScript(note: "\u{202e}" + String(repeating: "x", count: 300)).utf8)
    let between = Between(forged, status)
    try await withServer(between) { url in
      let report = try await agent(url).fetch(request())
      #expect(report.attempts[0].result == "rejected: \(Self.problem); \(words)")
      let bodies = between.bodies.withLock { $0 }
      #expect(bodies.count == 1)
      #expect(
        try JSONDecoder().decode(Sent.self, from: Data(bodies[0]))
          == Sent(
            url: "\(url)/2019/05/\(alice)?chain=1", sha256: SHA256.hash(forged).hex,
            reason: "signature", detail: Self.problem))
    }
  }

  @Test func aSchemaMayRefuseAFile() async throws {
    let good = try Signer.shop.sign(tokenScript(note: "good"), at: 1_600_000_001)
    try files.write("a.tsml", good)
    try await withRepository("", files) { repository in
      let check: TokenScriptAgent.SchemaCheck = { file, version in
        #expect(version == may)
        return String(decoding: file, as: UTF8.self).contains("bad")
          ? String(repeating: "\u{7}é", count: 300) : nil
      }
      let agent = try agent(repository.url, schemaCheck: check)
      guard case .stored = try await agent.fetch(request()).outcome else {
        Issue.record("not stored")
        return
      }
      try files.write("a.tsml", try Signer.shop.sign(tokenScript(note: "bad"), at: 1_600_000_900))
      try await repository.reload()
      let report = try await agent.fetch(request())
      #expect(report.outcome == .invalid && report.hasFile)
      #expect(report.attempts[0].rejection?.code == .schema)
      #expect(report.attempts[0].result.hasSuffix("; reported: the repository has this file"))
      #expect(cache.bytes("1/\(alice).xml") == good)
    }
  }
}
