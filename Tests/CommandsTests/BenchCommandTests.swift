internal import Formats
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing

@testable import Commands

/// `awd bench`: its arguments, output and exit codes.
@Suite struct BenchCommandTests {
  @Test(arguments: [
    ([], "URL is missing"), (["ftp://127.0.0.1/"], "URL: "), (["x"], "URL: "),
    (["http://127.0.0.1:1/", "--connections", "0"], "--connections: expected a number from 1"),
    (["http://127.0.0.1:1/", "--seconds", "x"], "--seconds: expected a number from 1"),
  ])
  func usage(_ words: [String], _ problem: String) async {
    let session = Session()
    #expect(await session.run(["bench"] + words) == 2)
    #expect(session.errors.contains(problem) && session.output.isEmpty)
  }

  private struct Always: Responder {
    let status: Status

    func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
      .respond(bodyLimit: 0) { [status] _ in Response(status) }
    }
  }

  private func run(_ status: Status) async throws -> (session: Session, code: Int32) {
    let server = try WebServer(
      options: ServerOptions(endpoints: [.tcp(.loopback, port: 0)]),
      responder: Always(status: status), report: { _ in })
    try server.start()
    let session = Session()
    let code = await session.run(
      ["bench", "http://\(server.endpoints[0])/", "--connections", "2", "--seconds", "1", "--json"])
    await server.drain(within: .zero)
    return (session, code)
  }

  @Test func measures() async throws {
    let (session, code) = try await run(.ok)
    #expect(code == 0)
    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(session.output.utf8)) as? [String: Double])
    #expect(try #require(report["requests"]) > 1 && report["failures"] == 0)
    #expect(try #require(report["medianMilliseconds"]) <= #require(report["longestMilliseconds"]))
  }

  @Test func errorsAreNoAnswers() async throws {
    let (session, code) = try await run(.notFound)
    #expect(code == 1 && session.errors.contains("404"))
  }

  @Test func nobodyIsThere() async {
    let session = Session()
    #expect(await session.run(["bench", "http://127.0.0.1:1/"]) == 1)
    #expect(session.output.isEmpty && !session.errors.isEmpty)
  }
}
