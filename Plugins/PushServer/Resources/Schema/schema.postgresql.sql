-- The same as in SQLite.
CREATE TABLE pushserver_clients (
  client BYTEA PRIMARY KEY,
  kind BIGINT NOT NULL,
  token TEXT COLLATE "C" NOT NULL UNIQUE,
  is_raw BIGINT NOT NULL,
  is_signed BIGINT NOT NULL,
  registered_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL
);
CREATE INDEX pushserver_clients_by_use ON pushserver_clients (used_at);

CREATE TABLE pushserver_messages (
  client BYTEA NOT NULL,
  message BYTEA NOT NULL,
  taken_at BIGINT NOT NULL,
  PRIMARY KEY (client, message)
);
CREATE INDEX pushserver_messages_by_client ON pushserver_messages (client, taken_at);
CREATE INDEX pushserver_messages_by_time ON pushserver_messages (taken_at);
