internal import Foundation
internal import TestSupport
internal import Testing

/// Stores of former versions.
@Suite(.withOtherPrograms, .timeLimit(.minutes(5))) struct UpgradeTests {
  @Test func storesOfEveryFormerVersionAreBroughtUpToDate() async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../System/Upgrades/upgrade.py").standardized.path
    let outcome = try await ChildProcess.run(
      "/usr/bin/python3", ["-B", script, try ChildProcess.built("awd")])
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}
