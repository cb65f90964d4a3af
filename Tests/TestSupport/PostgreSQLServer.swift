internal import Foundation
internal import Synchronization
internal import Platform

/// A PostgreSQL server of the tests' own, in a temporary folder, with a socket there and no port.
///
/// It ends with this process, however that ends. Run as root, it is another user's, as PostgreSQL wants it. Each call
/// blocks the thread.
package final class PostgreSQLServer: Sendable {
  /// The error of a server that doesn't do as told.
  package struct Failure: Error, CustomStringConvertible {
    /// The output of a program.
    package let description: String
  }

  /// The server that most tests share. Each has databases of its own there.
  package static let shared = Result { try PostgreSQLServer() }

  /// The superuser, who needs no password.
  package static let user = "awd"

  private static let databases = Atomic(0)

  private let folder = TemporaryFolder()
  private let programs: String
  private let settings: [String: String]
  private let smallDisk: Int?
  private let process = Lock<ChildProcess?>(nil)

  /// The folder of the socket, as a host in a URL.
  package var host: String { "\(folder.path)/postgresql" }

  /// A folder on a disk of its own, if one was asked for.
  package var smallFolder: String { "\(folder.path)/small" }

  /// Makes a server, and starts it.
  ///
  /// - Parameters:
  ///   - settings: further settings, as `postgresql.conf` has them.
  ///   - smallDisk: the size of ``smallFolder`` in MiB, a disk in memory that goes with the server. Only root can have one.
  package init(settings: [String: String] = [:], smallDisk: Int? = nil) throws {
    guard OtherPrograms.mayRun else { throw Failure(description: "no other program may run") }
    let versions = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")
    guard let version = versions.compactMap({ Int($0) }).max() else {
      throw Failure(description: "PostgreSQL isn't installed; `make test-deps` installs it")
    }
    programs = "/usr/lib/postgresql/\(version)/bin"
    self.settings = settings
    self.smallDisk = smallDisk
    for name in ["postgresql", "small"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
      if getuid() == 0 {
        _ = try Self.run("chown", ["\(Self.owner):", "\(folder.path)/\(name)"])
      }
    }
    _ = try Self.run(
      Self.asOwner[0],
      Self.asOwner.dropFirst() + [
        "\(programs)/initdb", "-D", "\(host)/data", "-U", Self.user, "-A", "trust", "-E", "UTF8",
        "--locale=C.UTF-8", "--no-sync",
      ], in: folder.path)
    // The user `locked` needs a password.
    try folder.write(
      "postgresql/data/pg_hba.conf", "local all locked scram-sha-256\nlocal all all trust\n")
    try start()
  }

  deinit { try? stop() }

  // MARK: - Starting and stopping

  /// Starts the server, and waits until it takes connections.
  package func start() throws {
    let options = settings.merging([
      "listen_addresses": "", "unix_socket_directories": host, "max_connections": "300",
      "shared_buffers": "64MB",
    ]) { own, _ in own }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    let mounting = smallDisk.map { size in
      "mount -t tmpfs -o size=\(size)m tmpfs \(smallFolder) && chown \(Self.owner): \(smallFolder) && "
    }
    // The shell's input ends when this process does, even by SIGKILL.
    let script = """
      exec 3<&0
      "$@" </dev/null & server=$!
      (read -r _ <&3; kill -QUIT $server) & watch=$!
      wait $server; kill $watch
      """
    let command = ["-c", (mounting ?? "") + "{ \(script)\n}", "sh"]
    let server = Self.asOwner + ["\(programs)/postgres", "-D", "\(host)/data"] + options
    let child = try ChildProcess(
      smallDisk == nil ? "sh" : "unshare",
      (smallDisk == nil ? [] : ["-m", "sh"]) + command + server,
      in: folder.path, input: nil)
    try child.line(with: "database system is ready to accept connections")
    process.withLock { $0 = child }
  }

  /// Stops the server.
  ///
  /// - Parameter immediately: whether it ends as if the power had gone; else it ends what runs.
  package func stop(immediately: Bool = false) throws {
    guard let child = process.withLock({ $0.take() }) else { return }
    let text = try String(contentsOfFile: "\(host)/data/postmaster.pid", encoding: .utf8)
    guard let identifier = text.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
      throw Failure(description: "postmaster.pid has no number")
    }
    kill(identifier, immediately ? SIGQUIT : SIGINT)
    _ = try child.ended() as ChildProcess.Ending
  }

  // MARK: - Databases

  /// Makes an empty database.
  ///
  /// - Parameter options: what follows its name in CREATE DATABASE.
  /// - Returns: its name.
  package func makeDatabase(_ options: String = "") throws -> String {
    let name = "test\(Self.databases.add(1, ordering: .relaxed).newValue)"
    _ = try query("CREATE DATABASE \(name) TEMPLATE template0 \(options)", in: "postgres")
    return name
  }

  /// Removes a database, whoever uses it.
  package func removeDatabase(_ name: String) throws {
    _ = try query("DROP DATABASE IF EXISTS \(name) WITH (FORCE)", in: "postgres")
  }

  /// Returns the URL of a database.
  package func url(of database: String, user: String = user) -> String {
    "postgresql://\(user)@/\(database)?host=\(host)"
  }

  /// Runs statements with psql.
  ///
  /// - Returns: the rows, in lines with `|` between columns.
  @discardableResult
  package func query(
    _ sql: String, in database: String, as user: String = user
  ) throws -> String {
    try Self.run(
      "\(programs)/psql",
      ["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, url(of: database, user: user)])
  }

  // MARK: - Programs

  /// The user who the server runs as, where this process is root's.
  private static let owner = getpwnam("postgres") == nil ? "nobody" : "postgres"

  private static let asOwner =
    getuid() == 0
    ? [
      "setpriv", "--reuid", owner, "--regid", String(getpwnam(owner).pointee.pw_gid),
      "--clear-groups",
    ]
    : ["env"]

  private static func run(
    _ program: String, _ arguments: [String], in folder: String? = nil
  ) throws -> String {
    let outcome: ChildProcess.Outcome = try ChildProcess.run(program, arguments, in: folder)
    guard outcome.code == 0 else { throw Failure(description: "\(program): \(outcome.errors)") }
    return outcome.output.trimmingCharacters(in: .newlines)
  }
}
