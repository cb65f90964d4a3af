package import Platform

/// The facts about a PostgreSQL database that an operator should know before nodes use it.
package struct PostgreSQLReport: Sendable {
  /// The server's version, such as `15.4`.
  package let version: String
  /// The number of migrations that are still to be applied.
  package let pendingMigrations: Int
  /// True if there is no table of a store's yet.
  package let isNew: Bool
  /// True if nothing can be written: it is a standby, or set so.
  package let isReadOnly: Bool
  /// The settings that are off, without which commits could be lost.
  package let unsafeSettings: [String]
  /// True if there are standbys that commits don't wait for, and none that they wait for.
  package let hasOnlyAsynchronousStandbys: Bool
  /// True if every role of the server may connect to the database.
  package let isOpenToAllRoles: Bool
  /// The number of connections that the server takes in all.
  package let connectionLimit: Int
  /// The server's time.
  package let time: Timestamp
  /// The names of the nodes that run.
  package let nodes: [String]
  /// The digests of files that must be the same on all nodes, as the nodes that run have shown them.
  package let contents: [NodeContent]

  /// The digest of what a node has in files.
  package struct NodeContent: Sendable, Equatable {
    /// The name of the node.
    package let node: String
    /// The key of the configuration that names the files.
    package let name: String
    package let sha256: [UInt8]

    package init(node: String, name: String, sha256: [UInt8]) {
      self.node = node
      self.name = name
      self.sha256 = sha256
    }
  }

  /// Looks at a database, and changes nothing. It blocks on the network.
  ///
  /// - Throws: ``StoreError``: `.ioError` if it can't be reached, `.incompatibleSchema` if it is of a newer or another
  ///   program, or can't be a store.
  package init(_ address: PostgreSQLAddress, migrations: [Migration]) throws {
    let connection = try PostgreSQLConnection(address, lockTimeout: .seconds(10))
    let migrator = try PostgreSQLMigrator(connection, migrations)
    pendingMigrations = try migrator.check()
    isNew = try migrator.isNew()
    version = connection.setting("server_version") ?? ""
    var settings: [String: String] = [:]
    try connection.forEach(
      """
      SELECT name, setting FROM pg_settings WHERE name IN (
        'transaction_read_only', 'fsync', 'full_page_writes', 'synchronous_standby_names',
        'max_connections')
      """
    ) { row in settings[try row[0]] = try row[1] }
    isReadOnly = settings["transaction_read_only"] == "on"
    unsafeSettings = ["fsync", "full_page_writes"].filter { settings[$0] == "off" }
    connectionLimit = Int(settings["max_connections"] ?? "") ?? 0
    let state = try ServerState(connection)
    hasOnlyAsynchronousStandbys =
      state.standbys > 0 && settings["synchronous_standby_names", default: ""].isEmpty
    isOpenToAllRoles = state.isOpenToAllRoles
    time = state.time
    let hasNodes: Bool? = try connection.value(
      "SELECT to_regclass('store_node_contents') IS NOT NULL")
    nodes = hasNodes == true ? try connection.livingNodes().map(\.name).sorted() : []
    contents = hasNodes == true ? try Self.contents(connection) : []
  }

  private struct ServerState {
    let standbys: Int
    let time: Timestamp
    let isOpenToAllRoles: Bool

    init(_ connection: PostgreSQLConnection) throws {
      let state = try connection.one(
        """
        SELECT (SELECT count(*) FROM pg_stat_replication),
          (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
          has_database_privilege('public', current_database(), 'CONNECT')
        """, transform: Self.init)
      guard let state else {
        throw StoreError(.other, "the server gave no row when it was asked for its state")
      }
      self = state
    }

    private init(_ row: borrowing Row) throws {
      standbys = try row[0]
      time = Timestamp(milliseconds: try row[1])
      isOpenToAllRoles = try row[2]
    }
  }

  private static func contents(_ connection: PostgreSQLConnection) throws -> [NodeContent] {
    var contents: [NodeContent] = []
    try connection.forEach(
      """
      SELECT n.name, c.name, c.sha256 FROM store_nodes n JOIN store_node_contents c ON c.node = n.id
      WHERE n.seen_at > clock_timestamp() - ? * interval '1 second' ORDER BY n.name, n.id, c.name
      """, NodeRegistry.lifetime / .seconds(1)
    ) { row in
      contents.append(NodeContent(node: try row[0], name: try row[1], sha256: try row[2]))
    }
    return contents
  }
}
