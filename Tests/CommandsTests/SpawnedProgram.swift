internal import Glibc
internal import SystemCalls
internal import TestSupport
internal import Testing
internal import Threading

/// The built program as a process of its own, whose lines can be waited for and written.
///
/// Not Foundation's `Process`: starting several at once with it has crashed.
final class SpawnedProgram: Sendable {
  private struct State {
    var output: [UInt8] = []
    /// Whether nothing more can come.
    var isWhole = false
    /// The status that `waitpid` gives, once the process has ended.
    var status: Int32?
  }

  private let pid: pid_t
  /// Our end of the process's standard input, output and error.
  private let input: Int32
  private let state = Lock(State())

  struct NotStarted: Error {}

  /// Starts it.
  ///
  /// - Parameter words: the arguments behind the program's name.
  init(_ words: [String]) throws {
    // The tests are linked beside the program.
    var link = [CChar](repeating: 0, count: 4096)
    guard readlink("/proc/self/exe", &link, link.count - 1) > 0 else { throw NotStarted() }
    let tests = String(
      decoding: link.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let path = tests.prefix(through: tests.lastIndex(of: "/") ?? tests.startIndex) + "awd"
    let (ours, theirs) = try Self.pair()
    let (read, written) = try Self.pair()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, theirs, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, written, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, written, STDERR_FILENO)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      close(theirs)
      close(written)
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = ([String(path)] + words).map { strdup($0) }
    defer { for argument in arguments { free(argument) } }
    arguments.append(nil)
    let variables = ChildEnvironment.inherited.map { strdup("\($0.key)=\($0.value)") }
    defer { for variable in variables { free(variable) } }
    let environment = variables + [nil]
    var pid = pid_t()
    guard posix_spawn(&pid, String(path), &actions, nil, arguments, environment) == 0 else {
      close(ours)
      close(read)
      throw NotStarted()
    }
    self.pid = pid
    input = ours
    _ = try WorkerThread(named: "test") { [weak self] in
      var piece = [UInt8](repeating: 0, count: 4096)
      while case let count = Glibc.read(read, &piece, piece.count), count > 0 {
        self?.state.withLock { $0.output += piece[..<count] }
      }
      close(read)
      self?.state.withLock { $0.isWhole = true }
    }
  }

  deinit {
    if status == nil {
      kill(pid, SIGKILL)
      var status: Int32 = 0
      waitpid(pid, &status, 0)
    }
    close(input)
  }

  /// Two connected sockets that no other process inherits.
  private static func pair() throws -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw NotStarted() }
    return (ends[0], ends[1])
  }

  /// All that it has written so far, to either stream.
  var output: String { state.withLock { String(decoding: $0.output, as: UTF8.self) } }

  private var status: Int32? {
    state.withLock { state in
      var status: Int32 = 0
      if state.status == nil, waitpid(pid, &status, WNOHANG) == pid { state.status = status }
      return state.status
    }
  }

  /// Writes a line to its standard input.
  func type(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    send(input, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  func endInput() { shutdown(input, Int32(SHUT_WR)) }

  func terminate() { if status == nil { kill(pid, SIGTERM) } }

  /// Waits for a line of the output, as long as the program may write and not for ever.
  ///
  /// - Parameter part: is in the line or its end.
  /// - Returns: the line, whole.
  @discardableResult
  func wait(for part: String) async throws -> Substring {
    var line: Substring?
    for _ in 0..<6000 {
      let isWhole = state.withLock { $0.isWhole }
      // The last one may still grow.
      let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
      line = lines.dropLast().first { "\($0)\n".contains(part) }
      if line != nil || isWhole { break }
      try await Task.sleep(for: .milliseconds(10))
    }
    return try #require(line, "no “\(part)” in: \(output)")
  }

  /// Waits for its end.
  ///
  /// - Returns: its exit code; -1 if it was killed, or does not end.
  func exitCode() async throws -> Int32 {
    for _ in 0..<6000 where status == nil { try await Task.sleep(for: .milliseconds(10)) }
    guard let status, status & 0x7f == 0 else { return -1 }
    return status >> 8 & 0xff
  }
}
