internal import Configuration
internal import Platform
internal import ServiceKit
internal import Storage

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
        access(report), identity(of: address), connections(report, of: server), clock(report),
        namesakes(among: report.nodes),
      ]
      let schema =
        report.isNew
        ? "`awd serve` will make the tables"
        : StoreCheck.schema(lacking: report.pendingMigrations)
      return [.good("PostgreSQL \(report.version); \(schema)")] + durability(report)
        + doubts.compactMap(\.self)
        + compare(contents, with: report.contents.filter { $0.node != server.nodeName })
    } catch { return [.wrong(StoreCheck.advice(on: error))] }
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
    _ report: PostgreSQLReport, of server: ServerConfiguration
  ) -> ContentFinding? {
    let needed = server.store.connections + 2 + server.store.lanes + 3
    let nodes = report.nodes.filter { $0 != server.nodeName }.count + 1
    guard report.connectionLimit < nodes * needed + otherConnections else { return nil }
    return .doubtful(
      "PostgreSQL takes \(report.connectionLimit) connections: too few for "
        + "\(quantity(nodes, "node")) of \(needed) each, and \(otherConnections) for others; raise "
        + "max_connections, or lower store.connections")
  }

  /// Doubts a name that several nodes have, as a copied configuration gives it to them.
  static func namesakes(among nodes: [String]) -> ContentFinding? {
    let names = Set(nodes.filter { name in nodes.filter { $0 == name }.count > 1 }).sorted()
    guard !names.isEmpty else { return nil }
    return .doubtful(
      "several running nodes have the same name: \(names.joined(separator: ", ").printable); logs and checks can't "
        + "tell them apart; give each a server.node of its own")
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
