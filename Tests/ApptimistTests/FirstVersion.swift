internal import ApptimistProtocol
internal import Storage

@testable import Apptimist

/// The mailboxes' tables before the second migration.
enum FirstVersion {
  /// Makes users whose keys are numbers, as the first version did.
  static func makeUsers(_ numbers: ClosedRange<Int>, in store: ApptimistStore) async throws {
    try await store.store.write { transaction in
      for number in numbers {
        let row: Int64? = try transaction.one(
          """
          INSERT INTO apptimist_users (key, kind, authentication_key, search_name, uid, name)
          VALUES (?, 0, ?, ?, ?, ?) RETURNING id
          """, StoreFixture.key(number), StoreFixture.authenticationKey(number),
          SearchText("user \(number)")?.bytes, "uid \(number)", "user \(number)"
        ) { try $0[0] }
        try transaction.execute("INSERT INTO apptimist_queues (user) VALUES (?)", row)
      }
    }
  }

  /// Writes mailboxes as the first version did; their users are there, and have the owners' numbers.
  static func write(_ models: [MailboxModel], to store: ApptimistStore) async throws {
    try await store.store.write { transaction in
      let entries = models.flatMap { model in model.entries.map { (user: model.owner, entry: $0) } }
      // Neighbours in a post that had the same data shared it, whether their headers differed in the
      // recipient only or not.
      var bodies: [[UInt8]: Int64] = [:]
      for data in Dictionary(grouping: entries.compactMap(\.entry.copy?.data), by: \.self).values
      where data.count > 1 {
        bodies[data[0]] = try transaction.one(
          "INSERT INTO apptimist_bodies (data) VALUES (?) RETURNING id", data[0]
        ) { try $0[0] }
      }
      for (user, entry) in entries.sorted(by: { $0.entry.position < $1.entry.position }) {
        let body = entry.copy.flatMap { bodies[$0.data] }
        let message: Int64? = try transaction.one(
          """
          INSERT INTO apptimist_messages (message_id, header, body, data) VALUES (?, ?, ?, ?)
          RETURNING id
          """, entry.id, entry.copy?.header, body, body == nil ? entry.copy?.data : nil
        ) { try $0[0] }
        try transaction.execute(
          """
          INSERT INTO apptimist_entries (user, position, kind, sender, size, message)
          VALUES (?, ?, ?, ?, ?, ?)
          """, user, entry.position, entry.kind, entry.sender, entry.size, message)
      }
      for model in models {
        for (id, known) in model.known {
          try transaction.execute(
            """
            INSERT INTO apptimist_message_ids (user, message_id, position, is_truncated)
            VALUES (?, ?, ?, ?)
            """, model.owner, id, known.position, known.isTruncated)
        }
        for (position, id) in model.dropped {
          try transaction.execute(
            "INSERT INTO apptimist_dropped (user, position, message_id) VALUES (?, ?, ?)",
            model.owner, position, id)
        }
        try transaction.execute(
          """
          UPDATE apptimist_queues SET last_position = ?, entries = ?, bytes = ?, dropped = ?
          WHERE user = ?
          """, model.last, model.entries.count, model.entries.reduce(0) { $0 + $1.size },
          model.dropped.count, model.owner)
      }
      try transaction.execute(
        """
        INSERT INTO apptimist_shares (user, sender, entries, bytes, oldest)
        SELECT user, sender, count(*), sum(size), min(position) FROM apptimist_entries
        GROUP BY user, sender
        """)
    }
  }
}
