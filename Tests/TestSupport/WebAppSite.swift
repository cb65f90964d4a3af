internal import Foundation
internal import Testing

/// A server of one service with a web app, that can be killed and started again at the same port.
package final class WebAppSite {
  private let folder = TemporaryFolder()
  private let service: String
  private let configuration: String
  private var process: ChildProcess?
  /// Where it listens, as a URL without a path.
  package private(set) var address = ""

  /// Starts it.
  ///
  /// - Parameters:
  ///   - service: the service's name.
  ///   - configuration: what stands in its section, and below.
  ///   - port: the port, or 0 for any.
  package init(service: String, configuration: String, port: Int = 0) throws {
    self.service = service
    self.configuration = configuration
    try start(port: port)
  }

  /// Kills it as a crash does.
  package func kill() throws {
    process?.signal(SIGKILL)
    _ = try process?.outcome()
  }

  /// Kills it, and starts it again with what it has stored.
  package func restart() throws {
    try kill()
    try start(port: try #require(address.split(separator: ":").last.flatMap { Int($0) }))
  }

  private func start(port: Int) throws {
    try folder.write(
      "awd.toml",
      """
      [server]
      listen = ["127.0.0.1:\(port)"]
      services = ["\(service)"]
      [\(service)]
      \(configuration)
      """)
    let process = try ChildProcess.awd(
      ["serve", "--config", "\(folder.path)/awd.toml"], home: folder.path)
    let line = try process.line(with: "listening at=")
    address = String(try #require(line.firstMatch(of: /listening at=(\S+)/)?.1))
    self.process = process
  }
}

extension String {
  /// The text as a literal of JavaScript.
  package var inJavaScript: String {
    String(decoding: (try? JSONEncoder().encode(self)) ?? Data(), as: UTF8.self)
  }
}
