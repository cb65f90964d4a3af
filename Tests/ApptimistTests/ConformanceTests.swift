internal import Foundation
internal import Testing
internal import TestSupport

/// Holds the built program to the specification with an implementation of others: Python's PyNaCl and
/// websockets. `Python/conformance.py --help` says how to run it by hand.
@Suite struct ConformanceTests {
  private static let python = "/usr/bin/python3"

  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Python").path

  /// Runs Python in the suite's folder.
  private static func run(_ arguments: [String]) throws -> ChildProcess.Outcome {
    try ChildProcess.run(python, arguments, in: folder, within: .seconds(600))
  }

  private static let hasLibraries = (try? run(["-c", "import nacl, websockets"]).code) == 0

  @Test(.withOtherPrograms, .enabled(if: hasLibraries, "needs python3-nacl and python3-websockets"))
  func conforms() throws {
    let outcome = try Self.run(["conformance.py", "--awd", ChildProcess.built("awd")])
    let wrong = (outcome.output + outcome.errors).split(separator: "\n").filter {
      !$0.hasPrefix("PASS")
    }
    #expect(outcome.code == 0, "\(wrong.joined(separator: "\n"))")
  }

  @Test(.enabled(if: hasLibraries, "needs python3-nacl"))
  func publishesTheVectorsThatItsScriptMakes() throws {
    let outcome = try Self.run([
      "../../ApptimistProtocolTests/Vectors/make_vectors.py", "--check",
    ])
    #expect(outcome.code == 0, "\(outcome)")
    let version2 = try Self.run([
      "../../ApptimistProtocolTests/Vectors/make_version2.py", "--check",
    ])
    #expect(version2.code == 0, "\(version2)")
    let people = try Self.run([
      "../../ApptimistProtocolTests/Vectors/make_people.py", "--check",
    ])
    #expect(people.code == 0, "\(people)")
  }
}
