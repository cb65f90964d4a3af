internal import CSpawn
internal import Foundation
internal import Glibc
internal import Platform

/// A running program, with what it prints as it comes and how it ended.
///
/// Each wait comes twice: one blocks the thread, the other suspends the task. A wait that ends in vain kills the program,
/// and so does the release of the object. Programs are started with `posix_spawn`, as Foundation's `Process` reads past a
/// buffer when many descriptors are open. The child inherits no descriptor but its standard ones.
package final class ChildProcess: Sendable {
  /// The way a process ended.
  package enum Ending: Equatable, Sendable {
    /// It exited with this code.
    case exited(Int32)
    /// This signal ended it.
    case killed(Int32)
  }

  /// One of the streams that a program writes.
  package enum Stream: Sendable {
    /// Standard output.
    case output
    /// Standard error.
    case errors
  }

  /// A program's exit code and what it printed.
  package struct Outcome: Equatable, Sendable {
    /// The exit code, or minus the signal that ended the program.
    package let code: Int32
    /// The text on standard output.
    package let output: String
    /// The text on standard error.
    package let errors: String
  }

  /// The error of a wait in vain.
  package struct Missing: Error, CustomStringConvertible {
    /// The text that was waited for, and the output of the program.
    package let description: String
  }

  private let record = Record()
  private let identifier: pid_t
  private let input: Int32

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - program: its path, or a name to be looked for in `PATH`.
  ///   - arguments: what follows the program's name.
  ///   - folder: its working folder; this process's if nil.
  ///   - home: its user's home; a temporary folder that goes with the run if nil.
  ///   - environment: further variables.
  ///   - input: what it reads from standard input; nil leaves that open for ``type(_:)``.
  /// - Throws: `POSIXError` if the system cannot start it.
  package init(
    _ program: String, _ arguments: [String] = [], in folder: String? = nil, home: String? = nil,
    environment: [String: String] = [:], input: String? = ""
  ) throws {
    let variables = Self.inherited.merging(["HOME": home ?? RunFolder.path]) { $1 }
      .merging(environment) { $1 }
    let (childInput, ownInput) = try Self.sockets()
    let (output, childOutput) = try Self.pipe()
    let (errors, childErrors) = try Self.pipe()
    var argv = ([program] + arguments).map { strdup($0) } + [nil]
    var envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (argv + envp).forEach { free($0) } }
    var identifier = pid_t()
    let failure = spawn_child(
      &identifier, program, &argv, &envp, folder, [childInput, childOutput, childErrors])
    for descriptor in [childInput, childOutput, childErrors] { close(descriptor) }
    guard failure == 0 else {
      for descriptor in [ownInput, output, errors] { close(descriptor) }
      throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO)
    }
    self.identifier = identifier
    self.input = ownInput
    record.collect(.output, from: output)
    record.collect(.errors, from: errors)
    record.reap(identifier)
    if let input {
      send(input)
      closeInput()
    }
  }

  deinit {
    signal(SIGKILL)
    close(input)
  }

  /// The variables that every child gets: the search path, and the options of sanitizers, whose reports name functions only
  /// if they find the symbolizer. What children leave in the temporary folder goes with the run.
  private static var inherited: [String: String] {
    ProcessInfo.processInfo.environment.filter {
      $0.key == "PATH" || $0.key.hasSuffix("SAN_OPTIONS")
    }.merging(["TMPDIR": RunFolder.path]) { $1 }
  }

  /// Two ends of a pipe.
  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
    return (ends[0], ends[1])
  }

  /// Two connected sockets; unlike a pipe's, their loss raises no signal.
  private static func sockets() throws -> (child: Int32, own: Int32) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
      throw POSIXError(.EMFILE)
    }
    return (ends[0], ends[1])
  }

  // MARK: - Input

  /// Writes a line to standard input.
  ///
  /// - Parameter line: the line without its end.
  package func type(_ line: String) { send("\(line)\n") }

  /// Ends standard input.
  package func closeInput() { shutdown(input, Int32(SHUT_WR)) }

  private func send(_ text: String) { _ = Loopback.send(Array(text.utf8), on: input) }

  /// Sends a signal, unless the process has ended.
  ///
  /// - Parameter number: the signal.
  package func signal(_ number: Int32) {
    record.now { if $0.ending == nil { kill(identifier, number) } }
  }

  /// The process's number, for what the system tells of it.
  package var processIdentifier: Int32 { identifier }

  /// Whether the process has not ended.
  package var isRunning: Bool { record.now { $0.ending == nil } }

  // MARK: - Output

  /// The text on standard output so far.
  package var output: String { record.now { $0.text(.output) } }

  /// The text on standard error so far.
  package var errors: String { record.now { $0.text(.errors) } }

  /// The number of bytes on standard error so far.
  package var errorCount: Int { record.now { $0.errors.count } }

  /// Waits for the end of the process and of its streams, blocking the thread.
  package func ended(within limit: Duration = .seconds(60)) throws -> Ending {
    try wait(for: "the end", within: limit) { $0.openStreams == 0 ? $0.ending : nil }
  }

  /// Waits for the end of the process and of its streams.
  package func ended(within limit: Duration = .seconds(60)) async throws -> Ending {
    try await onThread { try self.ended(within: limit) }
  }

  /// Waits for a text on a stream, blocking the thread.
  ///
  /// - Parameters:
  ///   - text: stands in one line, whose end it may contain.
  ///   - stream: the stream to look at.
  ///   - count: how many bytes of the stream to leave out.
  ///   - limit: how long to wait at most.
  /// - Returns: the first such line without its end.
  @discardableResult
  package func line(
    with text: String, on stream: Stream = .errors, after count: Int = 0,
    within limit: Duration = .seconds(60)
  ) throws -> String {
    try wait(for: "“\(text)”", within: limit) { state in
      let lines = state.bytes(stream).dropFirst(count).split(
        separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      // The last is not whole yet.
      return lines.dropLast().lazy.map { String(decoding: $0, as: UTF8.self) }
        .first { "\($0)\n".contains(text) }
    }
  }

  /// Waits for a text on a stream.
  ///
  /// - Parameters:
  ///   - text: stands in one line, whose end it may contain.
  ///   - stream: the stream to look at.
  ///   - count: how many bytes of the stream to leave out.
  ///   - limit: how long to wait at most.
  /// - Returns: the first such line without its end.
  @discardableResult
  package func line(
    with text: String, on stream: Stream = .errors, after count: Int = 0,
    within limit: Duration = .seconds(60)
  ) async throws -> String {
    try await onThread {
      try self.line(with: text, on: stream, after: count, within: limit)
    }
  }

  private func wait<Value: Sendable>(
    for what: String, within limit: Duration, _ value: (ChildState) -> Value?
  ) throws -> Value {
    if let value = record.wait(within: limit, value) { return value }
    signal(SIGKILL)
    throw Missing(description: "\(what) did not come; the program printed:\n\(output)\(errors)")
  }

  /// Waits for the end of the process and of its streams, blocking the thread.
  package func outcome(within limit: Duration = .seconds(60)) throws -> Outcome {
    let code: Int32 =
      switch try ended(within: limit) {
      case .exited(let code): code
      case .killed(let signal): -signal
      }
    return Outcome(code: code, output: output, errors: errors)
  }

  /// Waits for the end of the process and of its streams.
  package func outcome(within limit: Duration = .seconds(60)) async throws -> Outcome {
    try await onThread { try self.outcome(within: limit) }
  }

  /// Asks the process to end with SIGTERM, and waits for that, blocking the thread.
  @discardableResult
  package func terminate() throws -> Ending {
    signal(SIGTERM)
    return try ended()
  }
}

/// The output of a child and its end.
private struct ChildState: Sendable {
  var output: [UInt8] = []
  var errors: [UInt8] = []
  var openStreams = 2
  var ending: ChildProcess.Ending?

  func bytes(_ stream: ChildProcess.Stream) -> [UInt8] { stream == .output ? output : errors }

  func text(_ stream: ChildProcess.Stream) -> String {
    String(decoding: bytes(stream), as: UTF8.self)
  }
}

/// Collects the output of a child and its end on threads of its own, which may outlive the handle.
private final class Record: Sendable {
  private let state = Monitor(ChildState())

  func now<Value: Sendable>(_ value: (ChildState) -> Value) -> Value {
    state.withLock { value($0) }
  }

  private func change(_ body: (inout ChildState) -> Void) {
    state.withLock { body(&$0) }
    state.wakeAll()
  }

  /// Waits until there is a value, the time is over, or nothing can come any more.
  func wait<Value: Sendable>(within limit: Duration, _ value: (ChildState) -> Value?) -> Value? {
    var found: Value?
    state.withLock(
      when: { state in
        found = value(state)
        return found != nil || (state.openStreams == 0 && state.ending != nil)
      }, within: limit, { _ in })
    return found
  }

  func collect(_ stream: ChildProcess.Stream, from descriptor: Int32) {
    Thread.detachNewThread { [self] in
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        change { state in
          switch stream {
          case .output: state.output += buffer[..<count]
          case .errors: state.errors += buffer[..<count]
          }
        }
      }
      close(descriptor)
      change { $0.openStreams -= 1 }
    }
  }

  func reap(_ identifier: pid_t) {
    Thread.detachNewThread { [self] in
      var information = siginfo_t()
      while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
      change { state in
        // From here on the number may be another process's.
        var status: Int32 = 0
        waitpid(identifier, &status, 0)
        let signal = status & 0x7f
        state.ending = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal)
      }
    }
  }
}
