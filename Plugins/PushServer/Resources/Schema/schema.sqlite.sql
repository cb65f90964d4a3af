-- The wallets that are pushed to, each with the one address that it registered.
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
CREATE INDEX pushserver_clients_by_use ON pushserver_clients (used_at);

-- What was taken from the relay, so that nothing that it signed is pushed twice.
CREATE TABLE pushserver_messages (
  client BLOB NOT NULL,
  -- SHA-256 of the identifier.
  message BLOB NOT NULL,
  taken_at INTEGER NOT NULL,
  PRIMARY KEY (client, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX pushserver_messages_by_client ON pushserver_messages (client, taken_at);
CREATE INDEX pushserver_messages_by_time ON pushserver_messages (taken_at);
