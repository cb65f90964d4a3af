internal import Foundation
internal import Testing

/// Holds the built program to the specification with an implementation of others: Python's PyNaCl and
/// websockets. `Python/conformance.py --help` says how to run it by hand.
@Suite struct ConformanceTests {
  private static let python = "/usr/bin/python3"

  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Python").path

  /// Runs Python in the suite's folder.
  ///
  /// - Returns: its exit code and its output.
  private static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let printed = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, printed)
  }

  private static let hasLibraries = (try? run(["-c", "import nacl, websockets"]).status) == 0

  @Test(.enabled(if: hasLibraries, "needs python3-nacl and python3-websockets"))
  func conforms() throws {
    // The tests are linked beside the program.
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let awd = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("awd")
    let (status, output) = try Self.run(["conformance.py", "--awd", awd.path])
    let wrong = output.split(separator: "\n").filter { !$0.hasPrefix("PASS") }
    #expect(status == 0, "\(wrong.joined(separator: "\n"))")
  }

  @Test(.enabled(if: hasLibraries, "needs python3-nacl"))
  func publishesTheVectorsThatItsScriptMakes() throws {
    let (status, output) = try Self.run([
      "../../ApptimistProtocolTests/Vectors/make_vectors.py", "--check",
    ])
    #expect(status == 0, "\(output)")
  }
}
