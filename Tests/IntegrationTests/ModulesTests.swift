internal import Foundation
internal import TestSupport
internal import Testing

/// The picture of the modules in the guide.
@Suite struct ModulesTests {
  @Test func thePictureIsThatOfThePackage() async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../System/Modules/modules.py").standardized.path
    let outcome = try await ChildProcess.run("/usr/bin/python3", ["-B", script, "--check"])
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}
