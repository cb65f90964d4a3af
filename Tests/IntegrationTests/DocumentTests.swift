internal import Foundation
internal import TestSupport
internal import Testing

/// What the documents say of the program, compared with the program and its sources.
@Suite(.timeLimit(.minutes(5))) struct DocumentTests {
  /// The checks of `Tests/System/Documents/documents.py`.
  enum Check: String, CaseIterable {
    /// The keys of the page Configuration, with types, ranges and defaults.
    case configuration
    /// The page Commands.
    case commands
    /// Commands and options that pages name.
    case uses
    /// Keys and variables that pages name.
    case keys
    /// The page Metrics, and metrics that pages, alerts and the dashboard name.
    case metrics
    /// The page LogEvents.
    case events
    /// HTTP statuses that pages name.
    case statuses
    /// Numbers of the page Limits that are no keys.
    case limits
    /// Configurations, JSON and YAML in pages.
    case examples
    /// The version of the program and of CHANGELOG.
    case version
    /// The licences of what is linked or shipped.
    case licences
    /// Types and functions that pages name.
    case types
    /// The pictures of the page Performance.
    case charts
    /// Links to files, and paths of the repository.
    case links
  }

  @Test(arguments: Check.allCases) func thePagesSayWhatIsSo(_ check: Check) async throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
      .standardized
    let outcome = try await ChildProcess.run(
      "/usr/bin/python3",
      [
        "-B", "Tests/System/Documents/documents.py", try ChildProcess.built("awd"), check.rawValue,
      ],
      in: root.path)
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}
