-- The pushes of all services that wait or are under way. Times are milliseconds since 1970.
CREATE TABLE push_outbox (
  -- Never used twice, so that the late result of a push never ends another one.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  service TEXT NOT NULL,
  -- What order goes by, and whom the push counts for: the service's own bytes.
  device BLOB NOT NULL,
  account BLOB NOT NULL,
  -- 0 for Apple's push service, 1 for a browser's, 2 for Google's, 3 for Apple's sandbox.
  kind INTEGER NOT NULL,
  address BLOB NOT NULL,
  -- The UUID that Apple knows the push by.
  push_id TEXT NOT NULL,
  -- What the service makes the payload of.
  content BLOB NOT NULL,
  urgency INTEGER NOT NULL,
  collapse_key TEXT,
  -- The service's own number, by which it finds the push again.
  position INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  -- Not before; and not before those to the same device that are older.
  due_at INTEGER NOT NULL,
  is_next INTEGER NOT NULL,
  lease_owner BLOB,
  lease_end INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX push_outbox_by_device ON push_outbox (service, device, id);
CREATE INDEX push_outbox_due ON push_outbox (kind, due_at) WHERE is_next = 1;
-- Leasing changes nothing in any of the indexes.
CREATE INDEX push_outbox_by_account ON push_outbox (account) WHERE is_next = 1;
CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox WHEN old.is_next = 1 BEGIN
  UPDATE push_outbox SET is_next = 1
  WHERE id = (
    SELECT min(id) FROM push_outbox WHERE service = old.service AND device = old.device);
END;
-- The push services, by URL and topic or project, that have accepted a push. One of them that refuses a device does so for
-- the device's sake.
CREATE TABLE push_targets (target TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
