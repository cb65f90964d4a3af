internal import Foundation

extension ChildProcess {
  /// Returns the path of a program of this package; the tests are linked beside it.
  ///
  /// - Parameter name: the product's name.
  package static func built(_ name: String) throws -> String {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(filePath: tests).deletingLastPathComponent().appending(path: name).path
  }

  /// Starts `awd`; the parameters are those of `init`.
  package static func awd(
    _ arguments: [String], home: String, environment: [String: String] = [:], input: String? = ""
  ) throws -> ChildProcess {
    try ChildProcess(
      built("awd"), arguments, home: home, environment: environment, input: input)
  }

  /// Runs a program to its end, blocking the thread; the parameters are those of `init`.
  package static func run(
    _ program: String, _ arguments: [String] = [], in folder: String? = nil, home: String? = nil,
    environment: [String: String] = [:], input: String = "", within limit: Duration = .seconds(300)
  ) throws -> Outcome {
    try ChildProcess(
      program, arguments, in: folder, home: home, environment: environment, input: input
    ).outcome(within: limit)
  }

  /// Runs a program to its end; the parameters are those of `init`.
  package static func run(
    _ program: String, _ arguments: [String] = [], in folder: String? = nil, home: String? = nil,
    environment: [String: String] = [:], input: String = "", within limit: Duration = .seconds(300)
  ) async throws -> Outcome {
    try await onThread {
      try run(
        program, arguments, in: folder, home: home, environment: environment, input: input,
        within: limit)
    }
  }
}
