internal import Foundation
internal import TestSupport
internal import Testing

/// The shell blocks of the README and the guides.
@Suite(.withOtherPrograms, .timeLimit(.minutes(5))) struct TourTests {
  @Test func theGuidesShowWhatIsPrinted() async throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
      .standardized
    let guides =
      ["README.md"]
      + ["MsgrForBrowsers", "Operations"].map { "Sources/awd/awd.docc/\($0).md" }
    let outcome = try await ChildProcess.run(
      "/usr/bin/python3",
      ["-B", "Tests/System/Tour/tour.py", try ChildProcess.built("awd"), "config/dev.toml"]
        + guides,
      in: root.path)
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}
