internal import Foundation
internal import TestSupport
internal import Testing

/// Tests of `awd repo schemas`: what other bytes than the pinned ones are refused. The schemas themselves are others' work,
/// and aren't here.
@Suite(.ownThreads) struct RepositorySchemasCommandTests {
  @Test func othersBytesAreRefusedAndNothingIsWritten() async throws {
    let fixture = try CommandsFixture()
    let target = "\(fixture.folder)/schemas"
    let program = try CommandsFixture.program()
    for body in ["", "<schema/>"] {
      let server = try RawServer.responding(
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      let run = try fixture.spawn(
        program,
        ["repo", "schemas", "--to", target, "--from", server.url])
      #expect(run.code == 1 && run.errors.contains("SHA-256"), "\(run)")
    }
    let none = try fixture.spawn(
      program, ["repo", "schemas", "--to", target, "--from", "http://127.0.0.1:1"])
    #expect(none.code == 1)
    #expect(try fixture.spawn(program, ["repo", "schemas", "--from", "file:///etc"]).code == 2)
    #expect(!FileManager.default.fileExists(atPath: target))
  }
}
