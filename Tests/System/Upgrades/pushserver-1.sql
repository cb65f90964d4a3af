-- What pushserver kept after its migration 1, as of commit cde160a3.
BEGIN TRANSACTION;
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
INSERT INTO "push_outbox" VALUES(1,'x',X'78',X'78',1,X'78','x',X'78',1,NULL,1,1,1,0,1,1,NULL,0);
CREATE TABLE push_targets (target TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO "push_targets" VALUES('x');
CREATE TABLE pushserver_clients (
  -- The Ed25519 key that its identifier writes.
  client BLOB PRIMARY KEY,
  kind INTEGER NOT NULL,
  token TEXT NOT NULL UNIQUE,
  -- Whether the relay's bytes are passed on as they are.
  is_raw INTEGER NOT NULL,
  -- Whether a request that the client had signed registered it.
  is_signed INTEGER NOT NULL,
  registered_at INTEGER NOT NULL,
  -- When it was registered or pushed to last.
  used_at INTEGER NOT NULL,
  -- The site that registered it first, empty for a Unix socket, and whether the relay has ever pushed to it.
  site TEXT NOT NULL,
  is_pushed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO "pushserver_clients" VALUES(X'78',1,'x',1,1,1,1,'x',0);
CREATE TABLE pushserver_messages (
  client BLOB NOT NULL,
  -- SHA-256 of the identifier.
  message BLOB NOT NULL,
  accepted_at INTEGER NOT NULL,
  PRIMARY KEY (client, message)
) STRICT, WITHOUT ROWID;
INSERT INTO "pushserver_messages" VALUES(X'78',X'78',1);
CREATE TABLE pushserver_sites (
  site TEXT NOT NULL PRIMARY KEY,
  clients INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "pushserver_sites" VALUES('x',1);
CREATE TABLE store_migrations (
  owner TEXT NOT NULL,
  number INTEGER NOT NULL,
  applied_at INTEGER NOT NULL DEFAULT (unixepoch()),
  PRIMARY KEY (owner, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('push',1,1700000000);
INSERT INTO "store_migrations" VALUES('pushserver',1,1700000000);
CREATE INDEX push_outbox_by_device ON push_outbox (service, device, id);
CREATE INDEX push_outbox_due ON push_outbox (kind, due_at) WHERE is_next = 1;
CREATE INDEX push_outbox_by_account ON push_outbox (account) WHERE is_next = 1;
CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox WHEN old.is_next = 1 BEGIN
  UPDATE push_outbox SET is_next = 1
  WHERE id = (
    SELECT min(id) FROM push_outbox WHERE service = old.service AND device = old.device);
END;
CREATE INDEX pushserver_clients_by_use ON pushserver_clients (used_at);
CREATE INDEX pushserver_clients_unpushed ON pushserver_clients (used_at) WHERE is_pushed = 0;
CREATE INDEX pushserver_clients_by_site ON pushserver_clients (site, is_pushed, used_at);
CREATE INDEX pushserver_sites_by_clients ON pushserver_sites (clients);
CREATE TRIGGER pushserver_clients_count AFTER INSERT ON pushserver_clients BEGIN
  INSERT INTO pushserver_sites VALUES (new.site, 1)
  ON CONFLICT (site) DO UPDATE SET clients = clients + 1;
END;
CREATE TRIGGER pushserver_clients_uncount AFTER DELETE ON pushserver_clients BEGIN
  UPDATE pushserver_sites SET clients = clients - 1 WHERE site = old.site;
  DELETE FROM pushserver_sites WHERE site = old.site AND clients = 0;
END;
CREATE INDEX pushserver_messages_by_client ON pushserver_messages (client, accepted_at);
CREATE INDEX pushserver_messages_by_time ON pushserver_messages (accepted_at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('push_outbox',1);
COMMIT;
