internal import Foundation
internal import TestSupport
internal import Testing

/// What today's clients of TokenScripts, of ntfy and of Gotify ask, and make of the responses.
@Suite(.withOtherPrograms, .timeLimit(.minutes(2))) struct ClientsTests {
  @Test(arguments: ["clients.py", "message_clients.py"])
  func todaysClientsGetWhatTheyRead(script: String) async throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../System/Clients/\(script)").standardized.path
    let outcome = try await ChildProcess.run(
      "/usr/bin/python3", ["-B", path, try ChildProcess.built("awd")])
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}
