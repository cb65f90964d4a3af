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
  used_at INTEGER NOT NULL,
  -- The site that registered it first, empty for a Unix socket, and whether the relay has ever pushed to it.
  site TEXT NOT NULL,
  is_pushed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX pushserver_clients_by_use ON pushserver_clients (used_at);
CREATE INDEX pushserver_clients_unpushed ON pushserver_clients (used_at) WHERE is_pushed = 0;
CREATE INDEX pushserver_clients_by_site ON pushserver_clients (site, is_pushed, used_at);

-- How many clients each site has, so that the largest one is found at once.
CREATE TABLE pushserver_sites (
  site TEXT NOT NULL PRIMARY KEY,
  clients INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pushserver_sites_by_clients ON pushserver_sites (clients);
CREATE TRIGGER pushserver_clients_count AFTER INSERT ON pushserver_clients BEGIN
  INSERT INTO pushserver_sites VALUES (new.site, 1)
  ON CONFLICT (site) DO UPDATE SET clients = clients + 1;
END;
CREATE TRIGGER pushserver_clients_uncount AFTER DELETE ON pushserver_clients BEGIN
  UPDATE pushserver_sites SET clients = clients - 1 WHERE site = old.site;
  DELETE FROM pushserver_sites WHERE site = old.site AND clients = 0;
END;

-- What was taken from the relay, so that nothing that it signed is pushed twice.
CREATE TABLE pushserver_messages (
  client BLOB NOT NULL,
  -- SHA-256 of the identifier.
  message BLOB NOT NULL,
  accepted_at INTEGER NOT NULL,
  PRIMARY KEY (client, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX pushserver_messages_by_client ON pushserver_messages (client, accepted_at);
CREATE INDEX pushserver_messages_by_time ON pushserver_messages (accepted_at);
