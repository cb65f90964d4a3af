internal import Storage

extension MsgrStore {
  /// The tables of the outbox. Times are milliseconds since 1970.
  static let outboxMigration = Migration(
    owner: MsgrService.name, number: 2,
    sql: """
      CREATE TABLE push_outbox (
        -- Never used twice: who comes late to settle a push must not find another.
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        device_id TEXT NOT NULL REFERENCES msgr_devices ON DELETE CASCADE,
        message_id INTEGER NOT NULL,
        apns_id TEXT NOT NULL,
        -- A copy of the message: it is pushed even if the inbox has dropped it.
        sender TEXT NOT NULL,
        text TEXT NOT NULL,
        is_add_request INTEGER NOT NULL,
        badge INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        -- Not before; and not before those to the same device that are older.
        due_at INTEGER NOT NULL,
        is_next INTEGER NOT NULL,
        lease_owner BLOB,
        lease_end INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX push_outbox_by_device ON push_outbox (device_id, id);
      CREATE INDEX push_outbox_due ON push_outbox (due_at) WHERE is_next;

      CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox WHEN old.is_next BEGIN
        UPDATE push_outbox SET is_next = 1
        WHERE id = (SELECT min(id) FROM push_outbox WHERE device_id = old.device_id);
      END;

      -- The push services, by URL and topic, that have taken a push: where one refuses a device,
      -- that is the device's fault.
      CREATE TABLE push_targets (target TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
      """)
}
