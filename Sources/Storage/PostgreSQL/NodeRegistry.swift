package import Cryptography

/// The place of one node among those that share a PostgreSQL database.
///
/// Rows that belong to a running node, such as its sessions, refer to its row here, and go with it. Any other node removes a
/// node that isn't seen for ``lifetime``.
package struct NodeRegistry: Sendable {
  /// A newer release has changed the schema so that this one can't go on beside it.
  package struct OutdatedRelease: Error, Sendable, CustomStringConvertible {
    /// The reason, with the way out of it.
    package let description: String
  }

  /// The time between two calls of ``sendHeartbeat()``.
  package static let interval = Duration.seconds(5)
  /// The time after which a node that wasn't seen counts as dead.
  package static let lifetime = Duration.seconds(20)

  /// The node itself.
  package let node: NodeID
  private let store: Store
  private let name: String
  private let version: String

  /// Names a node that has no row yet.
  ///
  /// - Parameters:
  ///   - name: the name by which operators know it.
  ///   - store: a store on PostgreSQL.
  package init(_ node: NodeID, named name: String, version: String, in store: Store) {
    self.node = node
    self.store = store
    self.name = name
    self.version = version
  }

  /// Becomes one of the nodes. From now on nothing is written to the store unless ``sendHeartbeat()`` is called often
  /// enough.
  ///
  /// - Throws: ``OutdatedRelease`` if the database is a newer release's.
  package nonisolated(nonsending) func join() async throws {
    store.work.fence.open(until: .now + Self.lifetime)
    try await sendHeartbeat()
  }

  /// Records that the node is alive.
  ///
  /// - Returns: whether the node's row was there. If not, others have declared it dead, and all that referred to the row is
  ///   gone.
  /// - Throws: ``OutdatedRelease`` if a newer release has changed the schema so that this one can't go on beside it; then it
  ///   writes nothing any more.
  @discardableResult package nonisolated(nonsending) func sendHeartbeat() async throws -> Bool {
    let start = ContinuousClock.now
    let (wasThere, needs) = try await store.writeHeartbeat { transaction in
      (
        try recordHeartbeat(transaction),
        try transaction.all("SELECT owner, max(needs) FROM store_migrations GROUP BY owner") {
          (owner: try $0[0] as String, step: try $0[1] as Int)
        }
      )
    }
    if let need = needs.first(where: { $0.step > store.newestMigrations[$0.owner, default: 0] }) {
      let outdated = OutdatedRelease(
        description:
          "a newer release has brought \(need.owner) to migration \(need.step), which this "
          + "one doesn't know: nothing is written any more; upgrade this node")
      store.work.fence.close(StoreError(.readOnly, outdated.description))
      throw outdated
    }
    store.work.fence.extend(to: start + Self.lifetime)
    return wasThere
  }

  private func recordHeartbeat(_ transaction: borrowing Transaction) throws -> Bool {
    try transaction.execute(
      """
      UPDATE store_nodes SET seen_at = clock_timestamp()
      WHERE id = ? AND seen_at > clock_timestamp() - ? * interval '1 second'
      """, node, Self.lifetime / .seconds(1))
    if transaction.changes == 1 { return true }
    // Whoever migrates looks which nodes there are, and none may come until that is done.
    try transaction.execute("LOCK TABLE store_migrations IN ROW SHARE MODE")
    try transaction.execute("DELETE FROM store_nodes WHERE id = ?", node)
    try transaction.execute(
      "INSERT INTO store_nodes (id, name, version) VALUES (?, ?, ?)", node, name, version)
    for (owner, number) in store.newestMigrations {
      try transaction.execute(
        "INSERT INTO store_node_schemas VALUES (?, ?, ?)", node, owner, number)
    }
    return false
  }

  /// Shows the other nodes the digests of files that must be the same on all; they go with the node's row.
  ///
  /// - Parameter contents: the SHA-256 by the keys of the configuration that name the files.
  package nonisolated(nonsending) func record(_ contents: [String: [UInt8]]) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      for (name, digest) in contents {
        try transaction.execute(
          """
          INSERT INTO store_node_contents (node, name, sha256) VALUES (?, ?, ?)
          ON CONFLICT (node, name) DO UPDATE SET sha256 = excluded.sha256
          """, node, name, digest)
      }
    }
  }

  /// Removes the nodes that weren't seen for long, and all that refers to them.
  package nonisolated(nonsending) func markDead() async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        """
        DELETE FROM store_nodes WHERE id IN (
          SELECT id FROM store_nodes WHERE seen_at < clock_timestamp() - ? * interval '1 second'
          FOR UPDATE SKIP LOCKED)
        """, Self.lifetime / .seconds(1))
    }
  }

  /// The key that only those know who may read the nodes' tables.
  package var secret: SecretBox {
    get async throws {
      let key: [UInt8]? = try await store.read {
        try $0.value("SELECT secret FROM store_identity")
      }
      guard let box = key.flatMap(SecretBox.init) else {
        throw StoreError(.unexpectedValue, "store_identity.secret isn't 32 bytes")
      }
      return box
    }
  }

  /// Removes the node's row, and all that refers to it.
  package nonisolated(nonsending) func leave() async {
    // A row that stays is removed by another node.
    try? await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute("DELETE FROM store_nodes WHERE id = ?", node)
    }
  }
}

extension PostgreSQLConnection {
  /// Looks up the nodes that aren't dead, by the database's clock.
  func livingNodes() throws -> [(id: NodeID, name: String)] {
    try all(
      """
      SELECT id, name FROM store_nodes
      WHERE seen_at > clock_timestamp() - ? * interval '1 second'
      """, NodeRegistry.lifetime / .seconds(1)
    ) { row in (id: try row[0], name: try row[1]) }
  }
}
