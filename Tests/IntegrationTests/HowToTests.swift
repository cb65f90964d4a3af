internal import Foundation
internal import TestSupport
internal import Testing

/// The files of the guide "Beside other programs", with the programs that they are for.
@Suite(.withOtherPrograms, .timeLimit(.minutes(5))) struct HowToTests {
  @Test func theFilesDoWhatTheGuideSays() async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../System/HowTos/howtos.py").standardized.path
    let outcome = try await ChildProcess.run(
      "/usr/bin/python3", ["-B", script, try ChildProcess.built("awd")])
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}
