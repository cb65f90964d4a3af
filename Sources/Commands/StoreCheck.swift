internal import Configuration
internal import Glibc
internal import ServiceKit
internal import Storage
internal import SystemCalls
internal import Time

/// Checks the store for `awd check`: whether it is whole and fits this program, and whether the disk has room.
enum StoreCheck {
  /// The free space below which writes will soon fail, in bytes.
  private static let scarce = 256 << 20

  /// Checks everything, and changes nothing. A server may use the store meanwhile.
  ///
  /// - Parameters:
  ///   - configuration: names the store.
  ///   - services: all services that are built in.
  /// - Returns: one finding for each thing.
  static func findings(
    _ configuration: LoadedConfiguration, _ services: [any Service.Type]
  ) async -> [ContentFinding] {
    if case .postgreSQL(let address) = configuration.store {
      return database(address, configuration.server, services)
    }
    guard let path = configuration.server.store.path else { return [] }
    return [content(path, services), freeSpace(at: path)].compactMap(\.self)
  }

  /// The difference of clocks that is of no matter.
  private static let clockTolerance = Duration.seconds(5)

  private static func database(
    _ address: PostgreSQLAddress, _ server: ServerConfiguration, _ services: [any Service.Type]
  ) -> [ContentFinding] {
    let report: PostgreSQLReport
    do {
      report = try PostgreSQLReport(address, migrations: services.flatMap { $0.migrations })
    } catch {
      return [ContentFinding(.wrong, "\(error)")]
    }
    var findings = [
      ContentFinding(
        .good,
        "PostgreSQL \(report.version); "
          + (report.pendingMigrations == 0
            ? "its schema is this program's"
            : "`awd serve` will bring its schema \(report.pendingMigrations) steps forward"))
    ]
    if report.isReadOnly {
      findings.append(
        ContentFinding(
          .wrong,
          "PostgreSQL may only be read: it is a standby, or set so; name the primary, or all hosts with "
            + "target_session_attrs=read-write"))
    }
    for setting in report.unsafeSettings {
      findings.append(
        ContentFinding(
          .doubtful,
          "PostgreSQL's \(setting) is off: what is acknowledged may be lost with the power"))
    }
    if report.hasOnlyAsynchronousStandbys {
      findings.append(
        ContentFinding(
          .doubtful,
          "commits wait for no standby: what is acknowledged last is lost if one takes over; see "
            + "synchronous_standby_names"))
    }
    if !report.isConfidential {
      findings.append(
        ContentFinding(
          .doubtful,
          "others on the network may read what goes to PostgreSQL; use sslmode=verify-full"))
    }
    let needed = server.store.connections + 2 + server.store.lanes + 2
    if report.connectionLimit < needed + 5 {
      findings.append(
        ContentFinding(
          .doubtful,
          "PostgreSQL takes \(report.connectionLimit) connections, and each node wants \(needed); "
            + "raise max_connections, or lower store.connections"))
    }
    let difference = report.time.duration(to: .now())
    if difference > clockTolerance || difference < .zero - clockTolerance {
      findings.append(
        ContentFinding(
          .doubtful,
          "this machine's clock and PostgreSQL's differ by \(difference); awd goes by PostgreSQL's")
      )
    }
    return findings
  }

  private static func content(_ path: String, _ services: [any Service.Type]) -> ContentFinding {
    guard unsafe access(path, F_OK) == 0 else {
      return ContentFinding(.good, "\(path): `awd serve` will make it")
    }
    do {
      let pending = try Store.check(path, migrations: services.flatMap { $0.migrations })
      let schema =
        pending == 0
        ? "its schema is this program's"
        : "`awd serve` will bring its schema \(pending) steps forward"
      return ContentFinding(.good, "\(path): whole; \(schema)")
    } catch {
      return ContentFinding(.wrong, "\(path): \(advice(on: error))")
    }
  }

  /// Returns the text of an error of the store, with the way out of it.
  ///
  /// - Parameter error: the error.
  static func advice(on error: any Error) -> String {
    guard let error = error as? StoreError else { return "\(error)" }
    if error.code == .ioError, let advice = advice(onConnecting: error.message) {
      return "\(error); \(advice)"
    }
    guard error.code == .corrupt else { return "\(error)" }
    return "\(error); keep the damaged file and the -wal file beside it, move both away, and put a "
      + "backup in their place: awd restore FILE"
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
    var status = statvfs()
    guard unsafe statvfs(folder, &status) == 0 else { return nil }
    let (free, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(
      by: UInt64(status.f_frsize))
    let megabytes = overflows ? UInt64.max >> 20 : free >> 20
    let isReadOnly = status.f_flag & UInt(ST_RDONLY) != 0
    if isReadOnly { return ContentFinding(.wrong, "disk: \(folder) is read-only") }
    return megabytes >= UInt64(scarce >> 20)
      ? ContentFinding(.good, "disk: \(megabytes) MiB are free at \(folder)")
      : ContentFinding(
        megabytes == 0 ? .wrong : .doubtful, "disk: only \(megabytes) MiB are free at \(folder)")
  }
}
