package import Cryptography
internal import Time

/// The place of one node among those that share a PostgreSQL database.
///
/// Whatever a node has in the database for as long as it runs, such as its sessions, refers to its row here, and goes with
/// it. A node that isn't seen for ``lifetime`` is removed by any other one.
public struct NodeRegistry: Sendable {
  /// The reason why a node can't be one of those that run.
  public struct Mismatch: Error, Sendable, CustomStringConvertible {
    /// The reason, with the way out of it.
    public let description: String
  }

  /// The time between two calls of ``stay()``.
  public static let interval = Duration.seconds(5)
  /// The time after which a node that wasn't seen counts as dead.
  public static let lifetime = Duration.seconds(20)

  /// The node itself.
  public let node: NodeID
  private let store: Store
  private let name: String
  private let version: String

  /// Names a node that has no row yet.
  ///
  /// - Parameters:
  ///   - node: the node's number.
  ///   - name: the name by which operators know it.
  ///   - version: the program's version.
  ///   - store: a store on PostgreSQL.
  public init(_ node: NodeID, named name: String, version: String, in store: Store) {
    (self.node, self.store, self.name, self.version) = (node, store, name, version)
  }

  /// Says that the node is there, and removes those that weren't seen for long.
  ///
  /// - Returns: whether the node's row was there. If not, another node has taken it for dead, and all that referred to the
  ///   row is gone.
  @discardableResult public nonisolated(nonsending) func stay() async throws -> Bool {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        "UPDATE store_nodes SET seen_at = clock_timestamp() WHERE id = ?", node)
      let wasThere = transaction.changes == 1
      if !wasThere {
        try transaction.execute(
          "INSERT INTO store_nodes (id, name, version) VALUES (?, ?, ?)", node, name, version)
      }
      try transaction.execute(
        """
        DELETE FROM store_nodes WHERE id IN (
          SELECT id FROM store_nodes WHERE seen_at < clock_timestamp() - ? * interval '1 second'
          FOR UPDATE SKIP LOCKED)
        """, Double(Self.lifetime.milliseconds) / 1000)
      return wasThere
    }
  }

  /// The key that only those know who may read the nodes' tables.
  package var secret: SecretBox {
    get async throws {
      let key: [UInt8]? = try await store.read {
        try $0.one("SELECT secret FROM store_identity") { try $0[0] }
      }
      guard let box = key.flatMap(SecretBox.init) else {
        throw StoreError(.unexpectedValue, "store_identity.secret isn't 32 bytes")
      }
      return box
    }
  }

  /// Compares the node's files of keys with those of the other nodes, and notes them for nodes that come later.
  ///
  /// - Parameter files: the SHA-256 of each file that is there, by the key of the configuration that names it.
  /// - Throws: ``Mismatch`` if another node has another file, or one that is missing here.
  public nonisolated(nonsending) func compare(_ files: [String: [UInt8]]) async throws {
    let others: [(name: String, hash: [UInt8], node: String)] = try await store.write {
      transaction in
      for (name, hash) in files {
        try transaction.execute(
          """
          INSERT INTO store_node_files (node, name, sha256) VALUES (?, ?, ?)
          ON CONFLICT (node, name) DO UPDATE SET sha256 = excluded.sha256
          """, node, name, hash)
      }
      return try transaction.all(
        """
        SELECT f.name, f.sha256, n.name FROM store_node_files f JOIN store_nodes n ON n.id = f.node
        WHERE n.id <> ? ORDER BY f.name, n.seen_at
        """, node
      ) { row in (try row[0], try row[1], try row[2]) }
    }
    for other in others where files[other.name] != other.hash {
      let difference =
        files[other.name] == nil ? "lacks the file of" : "has another file than"
      throw Mismatch(
        description: "\(other.name): this node \(difference) the node \(other.node); "
          + "copy it from there")
    }
  }

  /// Removes the node's row, and all that refers to it.
  public nonisolated(nonsending) func leave() async {
    // A row that stays is removed by another node.
    try? await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute("DELETE FROM store_nodes WHERE id = ?", node)
    }
  }
}
