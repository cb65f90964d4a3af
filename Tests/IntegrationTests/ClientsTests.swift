internal import Foundation
internal import TestSupport
internal import Testing

/// What today's clients of TokenScripts ask, and make of the responses.
@Suite(.withOtherPrograms, .timeLimit(.minutes(2))) struct ClientsTests {
  @Test func todaysClientsGetWhatTheyRead() async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../System/Clients/clients.py").standardized.path
    let outcome = try await ChildProcess.run(
      "/usr/bin/python3", ["-B", script, try ChildProcess.built("awd")])
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}
