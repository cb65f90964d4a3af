internal import ApptimistProtocol
internal import Foundation
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
  private let process: Process

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
      [apptimist]
      queue_messages = 1000
      """
    try Data(configuration.utf8).write(to: URL(filePath: "\(folder)/awd.toml"))
    process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = ["serve", "--config", "\(folder)/awd.toml"]
    process.environment = ["HOME": folder]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
  }

  /// Waits until the program is ready.
  func waitUntilReady() async throws {
    let client = try HTTPClient()
    while (try? await client.send(OutgoingRequest(.get, "\(url)/readyz")).status) != .ok {
      guard process.isRunning else { throw Failure(description: "the server ended") }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// The program's resident memory in bytes (proc(5), `statm`).
  var residentBytes: Int {
    get throws {
      let text = try String(
        contentsOfFile: "/proc/\(process.processIdentifier)/statm", encoding: .utf8)
      let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      return pages * sysconf(Int32(_SC_PAGESIZE))
    }
  }

  /// Ends the program, and removes its data.
  func stop() {
    guard process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: folder)
  }
}
