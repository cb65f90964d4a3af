-- What pushserver kept after its migration 1, as of the commit with that step.
BEGIN TRANSACTION;
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
  used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "pushserver_clients" VALUES(X'6161616161616161616161616161616161616161616161616161616161616161',2,'fcm-token',1,1,1764000000000,1764000000000);
CREATE TABLE pushserver_messages (
  client BLOB NOT NULL,
  -- SHA-256 of the identifier.
  message BLOB NOT NULL,
  taken_at INTEGER NOT NULL,
  PRIMARY KEY (client, message)
) STRICT, WITHOUT ROWID;
INSERT INTO "pushserver_messages" VALUES(X'6161616161616161616161616161616161616161616161616161616161616161',X'6262626262626262626262626262626262626262626262626262626262626262',1764000000000);
CREATE TABLE store_migrations (owner TEXT NOT NULL, number INTEGER NOT NULL, applied_at INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (owner, number)) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('pushserver',1,1795690000);
CREATE INDEX pushserver_clients_by_use ON pushserver_clients (used_at);
CREATE INDEX pushserver_messages_by_client ON pushserver_messages (client, taken_at);
CREATE INDEX pushserver_messages_by_time ON pushserver_messages (taken_at);
COMMIT;
