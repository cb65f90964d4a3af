internal import Configuration
internal import Glibc
internal import Platform
internal import ServiceKit
internal import Storage

/// Checks the store for `awd check`: whether it is whole and fits this program, and whether the disk has room.
enum StoreCheck {
  /// The free space below which writes will soon fail, in bytes.
  private static let scarce = 256 << 20

  /// Checks everything, and changes nothing. A server may use the store meanwhile.
  ///
  /// - Parameter services: all services that are built in.
  /// - Returns: one finding for each thing.
  static func findings(
    _ configuration: LoadedConfiguration, _ services: [any Service.Type]
  ) async -> [ContentFinding] {
    if case .postgreSQL(let address) = configuration.store {
      let contents = await configuration.contentDigests(of: configuration.services(among: services))
      return DatabaseCheck.findings(address, configuration.server, services, contents)
    }
    guard let path = configuration.server.store.path else { return [] }
    return [content(path, services), freeSpace(at: path)].compactMap(\.self)
      + keys(path, configuration, services)
  }

  /// Checks whether the files of keys are those that the store depends on.
  private static func keys(
    _ path: String, _ configuration: LoadedConfiguration, _ services: [any Service.Type]
  ) -> [ContentFinding] {
    guard DataFolder.exists(path), let known = try? Store.keyFingerprints(inFile: path) else {
      return []
    }
    let files = KeyFiles(
      paths: configuration.keyFiles(of: configuration.services(among: services)))
    return files.problems(comparedWith: known).map { .wrong($0) }
  }

  private static func content(_ path: String, _ services: [any Service.Type]) -> ContentFinding {
    guard unsafe access(path, F_OK) == 0 else { return .good("\(path): `awd serve` will make it") }
    do {
      let pending = try Store.check(path, migrations: services.migrations)
      return .good("\(path): whole; \(schema(lacking: pending))")
    } catch { return .wrong("\(path): \(advice(on: error))") }
  }

  /// Says whether a schema is the program's.
  static func schema(lacking steps: Int) -> String {
    steps == 0
      ? "its schema is this program's"
      : "`awd serve` will apply \(steps) steps to its schema"
  }

  /// Returns the text of an error of the store, with the way out of it.
  static func advice(on error: any Error) -> String {
    guard let error = error as? StoreError else { return "\(error)" }
    if error.code == .ioError, let advice = advice(onConnecting: error.message) {
      return "\(error); \(advice)"
    }
    guard error.code == .corrupt else { return "\(error)" }
    return
      "\(error); keep the damaged file and the -wal and -shm files beside it, move them away, and put "
      + "a backup in their place: awd restore FILE"
  }

  /// Returns the way out where PostgreSQL or libpq refuses a connection, if the words tell it.
  private static func advice(onConnecting message: String) -> String? {
    if message.contains("password") {
      return "the password of PostgreSQL's user has to be in the file that AWD_STORE_PASSWORD_FILE "
        + "names, or in ~/.pgpass"
    }
    if message.contains("certificate verify failed") {
      return "PostgreSQL's certificate has expired, or comes from no root of the file that "
        + "sslrootcert names in store.url"
    }
    return nil
  }

  /// Finds whether the store's disk is nearly full; nothing if it can't be told.
  private static func freeSpace(at path: String) -> ContentFinding? {
    var folder = DurableFile.folder(of: path)
    while unsafe access(folder, F_OK) != 0, folder != "/", folder != "." {
      folder = DurableFile.folder(of: folder)
    }
    guard let space = DiskSpace(at: folder) else { return nil }
    if space.isReadOnly { return .wrong("disk: \(folder) is read-only") }
    let megabytes = space.freeBytes >> 20
    return megabytes >= scarce >> 20
      ? .good("disk: \(megabytes) MiB are free at \(folder)")
      : ContentFinding(
        megabytes == 0 ? .wrong : .doubtful, "disk: only \(megabytes) MiB are free at \(folder)")
  }
}

/// Checks a PostgreSQL database for `awd check`: whether it fits this program, and keeps what it has acknowledged.
enum DatabaseCheck {
  /// The difference of clocks that doesn't matter.
  private static let clockTolerance = Duration.seconds(5)
  /// The connections that PostgreSQL keeps for others.
  private static let otherConnections = 5

  /// Checks everything, and changes nothing.
  ///
  /// - Parameters:
  ///   - server: names the connections that this node makes.
  ///   - services: all services that are built in.
  ///   - contents: the digests of this machine's files that all nodes must have.
  /// - Returns: one finding for each thing.
  static func findings(
    _ address: PostgreSQLAddress, _ server: ServerConfiguration, _ services: [any Service.Type],
    _ contents: [String: [UInt8]]
  ) -> [ContentFinding] {
    do {
      let report = try PostgreSQLReport(address, migrations: services.migrations)
      let doubts = [
        access(report), identity(of: address), connections(report, of: server.store),
        clock(report),
      ]
      let schema =
        report.isNew
        ? "`awd serve` will make the tables"
        : StoreCheck.schema(lacking: report.pendingMigrations)
      return [.good("PostgreSQL \(report.version); \(schema)")] + durability(report)
        + doubts.compactMap(\.self)
        + compare(contents, with: report.contents.filter { $0.node != server.nodeName })
    } catch { return [.wrong("\(error)")] }
  }

  /// Compares the digests of this machine's files with those of other nodes.
  ///
  /// - Parameter own: the digests by the keys of the configuration that name the files.
  static func compare(
    _ own: [String: [UInt8]], with others: [PostgreSQLReport.NodeContent]
  ) -> [ContentFinding] {
    own.sorted { $0.key < $1.key }.flatMap { key, digest in
      let shown = others.filter { $0.name == key }
      let differing = shown.filter { $0.sha256 != digest }
      let equal = shown.filter { $0.sha256 == digest }.map(\.node)
      let doubts = differing.map { other in
        ContentFinding.doubtful(
          "\(key): node \(other.node.printable) has other files there than this machine, so clients get "
            + "different answers; make the folder the same on all nodes")
      }
      guard !equal.isEmpty else { return doubts }
      let names = equal.joined(separator: ", ").printable
      return doubts + [.good("\(key): the same files as on \(names)")]
    }
  }

  private static func durability(_ report: PostgreSQLReport) -> [ContentFinding] {
    var findings: [ContentFinding] = []
    if report.isReadOnly {
      findings.append(
        .wrong(
          "PostgreSQL may only be read: it is a standby, or set so; name the primary, or all hosts with "
            + "target_session_attrs=read-write"))
    }
    findings += report.unsafeSettings.map {
      .doubtful("PostgreSQL's \($0) is off: what is acknowledged may be lost with the power")
    }
    if report.hasOnlyAsynchronousStandbys {
      findings.append(
        .doubtful(
          "commits wait for no standby: what is acknowledged last is lost if one takes over; see "
            + "synchronous_standby_names"))
    }
    return findings
  }

  private static func connections(
    _ report: PostgreSQLReport, of store: ServerConfiguration.Store
  ) -> ContentFinding? {
    let needed = store.connections + 2 + store.lanes + 3
    guard report.connectionLimit < needed + otherConnections else { return nil }
    return .doubtful(
      "PostgreSQL takes \(report.connectionLimit) connections, and each node wants \(needed); "
        + "raise max_connections, or lower store.connections")
  }

  private static func access(_ report: PostgreSQLReport) -> ContentFinding? {
    guard report.isOpenToAllRoles else { return nil }
    return .doubtful(
      "every role of the server may connect to the database; REVOKE CONNECT, TEMPORARY ON "
        + "DATABASE … FROM PUBLIC")
  }

  /// Doubts a server on another machine that isn't asked to prove that it is the right one.
  static func identity(of address: PostgreSQLAddress) -> ContentFinding? {
    guard address.isUnverified else { return nil }
    return .doubtful(
      "store.url: anyone on the network path to PostgreSQL can pose as it, and read and change everything; "
        + "use sslmode=verify-full")
  }

  private static func clock(_ report: PostgreSQLReport) -> ContentFinding? {
    let difference = report.time.duration(to: .now())
    guard difference > clockTolerance || difference < .zero - clockTolerance else { return nil }
    return .doubtful(
      "this machine's clock and PostgreSQL's differ by \(difference); awd goes by PostgreSQL's")
  }
}
