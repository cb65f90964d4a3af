internal import Foundation
internal import TestSupport
internal import Threading

/// The built program or another one, running: what it prints as it comes, and how it ended.
///
/// Who waits for something that doesn't happen gets an error, and the process is killed. Nothing here depends
/// on who else has the pipes open.
final class Child: Sendable {
  /// How a process ended.
  enum Ending: Equatable {
    case exited(Int32)
    case killed(Int32)
  }

  /// Something did not happen: what, and what the process has printed.
  struct Missing: Error, CustomStringConvertible {
    let description: String
  }

  private struct State {
    var output: [UInt8] = []
    var errors: [UInt8] = []
    var openPipes = 2
    var ending: Ending?
    var isReaped = false
    var isLate = false
    /// Counts the changes that somebody may wait for.
    var version = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// All that is changed by the threads of one child.
  private final class Shared: Sendable {
    let state = Lock(State())

    func change(_ body: (inout State) -> Void) {
      let waiters = state.withLock { state in
        body(&state)
        state.version += 1
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter.resume() }
    }
  }

  private let shared = Shared()
  private let identifier: pid_t

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - program: its path; nil: the one that is linked beside the tests.
  ///   - words: its arguments.
  ///   - home: its user's home.
  ///   - environment: further variables.
  ///   - input: what it reads from standard input.
  init(
    program: String? = nil, _ words: [String], home: String,
    _ environment: [String: String] = [:], input: String = ""
  ) throws {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program =
      program ?? URL(filePath: tests).deletingLastPathComponent().appending(path: "awd").path
    let variables = ChildEnvironment.inherited.merging(["HOME": home]) { $1 }
      .merging(environment) { $1 }
    let (input, output, errors) = (try Self.pipe(input), try Self.pipe(), try Self.pipe())
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, errors.write, STDERR_FILENO)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var argv = ([program] + words).map { strdup($0) } + [nil]
    var envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (argv + envp).forEach { free($0) } }
    var identifier = pid_t()
    let failure = posix_spawn(&identifier, program, &actions, &attributes, &argv, &envp)
    for descriptor in [input.read, input.write, output.write, errors.write] where descriptor >= 0 {
      close(descriptor)
    }
    guard failure == 0 else {
      close(output.read)
      close(errors.read)
      throw Missing(description: "\(program): \(String(cString: strerror(failure)))")
    }
    self.identifier = identifier
    read(output.read) { $0.output += $1 }
    read(errors.read) { $0.errors += $1 }
    reap()
  }

  deinit { signal(SIGKILL) }

  /// Two connected sockets that no other process inherits, used as a pipe: with a text in it and no writer left, or empty.
  private static func pipe(_ text: String? = nil) throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
    if let text { _ = write(ends[1], text, text.utf8.count) }
    return (ends[0], ends[1])
  }

  private func read(
    _ descriptor: Int32, _ take: @escaping @Sendable (inout State, ArraySlice<UInt8>) -> Void
  ) {
    Thread.detachNewThread { [shared] in
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { break }
        let bytes = buffer[..<count]
        shared.change { take(&$0, bytes) }
      }
      close(descriptor)
      shared.change { $0.openPipes -= 1 }
    }
  }

  private func reap() {
    Thread.detachNewThread { [shared, identifier] in
      var information = siginfo_t()
      while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
      shared.change { state in
        // From here on the number may be another process's.
        var status: Int32 = 0
        waitpid(identifier, &status, 0)
        let signal = status & 0x7f
        state.isReaped = true
        state.ending = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal)
      }
    }
  }

  /// Sends a signal; a process that has ended gets none.
  func signal(_ number: Int32) {
    shared.state.withLock { state in
      if !state.isReaped { kill(identifier, number) }
    }
  }

  /// Waits for the end of the process and of what it prints.
  func ended(within limit: Duration = .seconds(30)) async throws -> Ending {
    try await wait(for: "the end", within: limit) { $0.openPipes == 0 ? $0.ending : nil }
  }

  /// Waits for a line in the log; the first one that was printed since the `count`th byte.
  func line(
    with text: String, after count: Int = 0, within limit: Duration = .seconds(30)
  ) async throws -> String {
    try await wait(for: "“\(text)”", within: limit) { state in
      let lines = state.errors.dropFirst(count).split(
        separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      // The last is not whole yet.
      for line in lines.dropLast() {
        let line = String(decoding: line, as: UTF8.self)
        if line.contains(text) { return line }
      }
      return nil
    }
  }

  /// What it printed on standard output.
  var output: String { shared.state.withLock { String(decoding: $0.output, as: UTF8.self) } }
  /// What it printed on standard error: the log.
  var errors: String { shared.state.withLock { String(decoding: $0.errors, as: UTF8.self) } }
  /// How many bytes of log there are.
  var errorCount: Int { shared.state.withLock { $0.errors.count } }

  private func wait<Value>(
    for what: String, within limit: Duration, _ value: (State) -> Value?
  ) async throws -> Value {
    let alarm = Task { [self] in
      try await Task.sleep(for: limit)
      signal(SIGKILL)
      shared.change { $0.isLate = true }
    }
    defer { alarm.cancel() }
    while true {
      let (found, version, isOver) = shared.state.withLock { state in
        (value(state), state.version, state.isLate || state.ending != nil && state.openPipes == 0)
      }
      if let found { return found }
      if isOver {
        throw Missing(description: "\(what) did not come; the program printed:\n\(output)\(errors)")
      }
      await withCheckedContinuation { continuation in
        let isStale = shared.state.withLock { state in
          if state.version == version { state.waiters.append(continuation) }
          return state.version != version
        }
        if isStale { continuation.resume() }
      }
    }
  }

  /// Runs the program to its end.
  ///
  /// - Returns: the exit code, or minus the signal that ended it; and what it printed.
  static func run(
    program: String? = nil, _ words: [String], home: String,
    _ environment: [String: String] = [:], input: String = ""
  ) async throws -> (code: Int32, output: String, errors: String) {
    let child = try Child(program: program, words, home: home, environment, input: input)
    let code: Int32 =
      switch try await child.ended() {
      case .exited(let code): code
      case .killed(let signal): -signal
      }
    return (code, child.output, child.errors)
  }
}
