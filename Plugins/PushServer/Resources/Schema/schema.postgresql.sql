-- The same as in SQLite.
CREATE TABLE pushserver_clients (
  client BYTEA PRIMARY KEY,
  kind BIGINT NOT NULL,
  token TEXT COLLATE "C" NOT NULL UNIQUE,
  is_raw BIGINT NOT NULL,
  is_signed BIGINT NOT NULL,
  registered_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  site TEXT COLLATE "C" NOT NULL,
  is_pushed BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX pushserver_clients_by_use ON pushserver_clients (used_at);
CREATE INDEX pushserver_clients_unpushed ON pushserver_clients (used_at) WHERE is_pushed = 0;
CREATE INDEX pushserver_clients_by_site ON pushserver_clients (site, is_pushed, used_at);

CREATE TABLE pushserver_sites (
  site TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  clients BIGINT NOT NULL
);
CREATE INDEX pushserver_sites_by_clients ON pushserver_sites (clients);
CREATE FUNCTION pushserver_clients_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO pushserver_sites VALUES (new.site, 1)
  ON CONFLICT (site) DO UPDATE SET clients = pushserver_sites.clients + 1;
  RETURN NULL;
END $$;
CREATE TRIGGER pushserver_clients_count AFTER INSERT ON pushserver_clients
  FOR EACH ROW EXECUTE FUNCTION pushserver_clients_count();
CREATE FUNCTION pushserver_clients_uncount() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE pushserver_sites SET clients = clients - 1 WHERE site = old.site;
  DELETE FROM pushserver_sites WHERE site = old.site AND clients = 0;
  RETURN NULL;
END $$;
CREATE TRIGGER pushserver_clients_uncount AFTER DELETE ON pushserver_clients
  FOR EACH ROW EXECUTE FUNCTION pushserver_clients_uncount();

CREATE TABLE pushserver_messages (
  client BYTEA NOT NULL,
  message BYTEA NOT NULL,
  accepted_at BIGINT NOT NULL,
  PRIMARY KEY (client, message)
);
CREATE INDEX pushserver_messages_by_client ON pushserver_messages (client, accepted_at);
CREATE INDEX pushserver_messages_by_time ON pushserver_messages (accepted_at);
