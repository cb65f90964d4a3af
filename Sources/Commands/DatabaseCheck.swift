internal import Configuration
internal import ServiceKit
internal import Storage
internal import Platform

/// Checks a PostgreSQL database for `awd check`: whether it fits this program, and keeps what it has acknowledged.
enum DatabaseCheck {
  /// The difference of clocks that doesn't matter.
  private static let clockTolerance = Duration.seconds(5)
  /// The connections that PostgreSQL keeps for others.
  private static let otherConnections = 5

  /// Checks everything, and changes nothing.
  ///
  /// - Parameters:
  ///   - address: the database.
  ///   - server: names the connections that this node makes.
  ///   - services: all services that are built in.
  /// - Returns: one finding for each thing.
  static func findings(
    _ address: PostgreSQLAddress, _ server: ServerConfiguration, _ services: [any Service.Type]
  ) -> [ContentFinding] {
    do {
      let report = try PostgreSQLReport(address, migrations: services.migrations)
      let doubts = [
        access(report), identity(of: address), connections(report, of: server.store),
        clock(report),
      ]
      let schema = StoreCheck.schema(lacking: report.pendingMigrations)
      return [.good("PostgreSQL \(report.version); \(schema)")] + durability(report)
        + doubts.compactMap(\.self)
    } catch { return [.wrong("\(error)")] }
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
