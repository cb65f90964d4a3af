internal import Foundation
internal import Glibc
internal import HTTPClient
internal import HTTPProtocol
internal import WalletClient

/// The program with all services, on data of its own that is removed with it.
final class ServerUnderLoad: Sendable {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let url: String
  let siren: WebSocketURL
  private let folder: String
  private let process: pid_t

  /// Starts the program.
  ///
  /// - Parameter program: its path.
  init(_ program: String) throws {
    let port = UInt16.random(in: 20_000..<32_000)
    guard let siren = WebSocketURL("ws://127.0.0.1:\(port)/siren") else {
      throw Failure(description: "no URL")
    }
    self.siren = siren
    url = "http://127.0.0.1:\(port)"
    folder = "\(NSTemporaryDirectory())awd-load-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let configuration = """
      [server]
      listen = ["127.0.0.1:\(port)"]
      data = "data"
      [log]
      level = "warning"
      [msgr]
      messages_per_minute = 1000000000
      registrations_per_minute = 1000000000
      registrations_per_day = 1000000000
      streams_per_address = 10000
      push = "log"
      [apptimist]
      queue_messages = 1000
      """
    try Data(configuration.utf8).write(to: URL(filePath: "\(folder)/awd.toml"))
    process = try Self.spawn([program, "serve", "--config", "\(folder)/awd.toml"], home: folder)
  }

  /// Starts a child process whose output goes nowhere, and whose errors go where this process's go.
  private static func spawn(_ arguments: [String], home: String) throws -> pid_t {
    var process = pid_t()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    var argv = arguments.map { strdup($0) } + [nil]
    var environment = [strdup("HOME=\(home)"), nil]
    defer {
      posix_spawn_file_actions_destroy(&actions)
      for text in argv + environment { free(text) }
    }
    let code = posix_spawn(&process, arguments[0], &actions, nil, &argv, &environment)
    guard code == 0 else { throw Failure(description: "\(arguments[0]): error \(code)") }
    return process
  }

  /// Waits until the program is ready.
  func waitUntilReady() async throws {
    let client = try WebClient()
    while (try? await client.send(OutgoingRequest(.get, "\(url)/readyz")).status) != .ok {
      guard waitpid(process, nil, WNOHANG) == 0 else {
        throw Failure(description: "the server ended")
      }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// The program's resident memory in bytes (proc(5), `statm`).
  var residentBytes: Int {
    get throws {
      let text = try String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8)
      let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      return pages * sysconf(Int32(_SC_PAGESIZE))
    }
  }

  /// Ends the program, and removes its data.
  func stop() {
    // A process that has ended and been waited for must not be signalled: its number may be another's.
    if waitpid(process, nil, WNOHANG) == 0 {
      kill(process, SIGTERM)
      waitpid(process, nil, 0)
    }
    try? FileManager.default.removeItem(atPath: folder)
  }
}
