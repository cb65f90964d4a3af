/// The fingerprint of a file of keys that rows of the store depend on, such as the keys that devices are bound to.
package struct KeyFingerprint: Sendable, Equatable {
  /// The SHA-256 of the file.
  package let sha256: [UInt8]
  /// The name of the node that recorded it.
  package let node: String
}

extension Store {
  /// Returns the recorded fingerprints by the keys of the configuration that name the files, such as `apptimist.keys`.
  package nonisolated(nonsending) func keyFingerprints() async throws -> [String: KeyFingerprint] {
    try await read { snapshot in
      var known: [String: KeyFingerprint] = [:]
      try snapshot.forEach("SELECT name, sha256, node FROM store_keys") { row in
        known[try row[0]] = KeyFingerprint(sha256: try row[1], node: try row[2])
      }
      return known
    }
  }

  /// Records fingerprints, of which one that is recorded already stays.
  ///
  /// - Parameter hashes: the SHA-256 of each file by the key of the configuration that names it.
  package nonisolated(nonsending) func recordKeys(
    _ hashes: [String: [UInt8]], of node: String
  ) async throws {
    try await write { transaction in
      for (name, hash) in hashes {
        try transaction.execute(
          "INSERT INTO store_keys (name, sha256, node) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
          name, hash, node)
      }
    }
  }

  /// Forgets the fingerprints of files, so that the next ones count.
  package nonisolated(nonsending) func forgetKeys(_ names: [String]) async throws {
    try await write { transaction in
      for name in names {
        try transaction.execute("DELETE FROM store_keys WHERE name = ?", name)
      }
    }
  }

  /// Returns the recorded fingerprints of a database that nobody needs to have open; none if it has no such table yet. It
  /// blocks on the disk, and changes nothing.
  ///
  /// - Parameter path: a file of SQLite's.
  package static func keyFingerprints(inFile path: String) throws -> [String: KeyFingerprint] {
    try DatabaseFile.existing(path).requireContent()
    let connection = try SQLiteConnection(reading: path)
    var hasTable = false
    try connection.forEach("SELECT 1 FROM sqlite_schema WHERE name = 'store_keys'") { _ in
      hasTable = true
    }
    guard hasTable else { return [:] }
    var known: [String: KeyFingerprint] = [:]
    try connection.forEach("SELECT name, sha256, node FROM store_keys") { row in
      known[try row[0]] = KeyFingerprint(sha256: try row[1], node: try row[2])
    }
    return known
  }
}
