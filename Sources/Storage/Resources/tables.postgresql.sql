-- The tables of the store itself, before those of any service.

CREATE TABLE store_migrations (
  owner text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  needs bigint NOT NULL,
  applied_at bigint NOT NULL DEFAULT extract(epoch FROM clock_timestamp())::bigint,
  PRIMARY KEY (owner, number)
);
CREATE TABLE store_probe (
  id bigint PRIMARY KEY CHECK (id = 1),
  written_at bigint NOT NULL,
  count bigint NOT NULL DEFAULT 1
);
-- The secret of the nodes: 244 random bits.
CREATE TABLE store_identity (secret bytea NOT NULL);
INSERT INTO store_identity
SELECT decode(replace(gen_random_uuid()::text || gen_random_uuid(), '-', ''), 'hex');
CREATE TABLE store_nodes (
  id bigint PRIMARY KEY,
  name text NOT NULL,
  version text NOT NULL,
  joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- The newest migration of each owner that the node's release knows.
CREATE TABLE store_node_schemas (
  node bigint NOT NULL REFERENCES store_nodes ON DELETE CASCADE,
  owner text COLLATE "C" NOT NULL,
  newest bigint NOT NULL,
  PRIMARY KEY (node, owner)
);
-- The SHA-256 of files that must be the same on all nodes, by the keys of the configuration that name them.
CREATE TABLE store_node_contents (
  node bigint NOT NULL REFERENCES store_nodes ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  sha256 bytea NOT NULL,
  PRIMARY KEY (node, name)
);
CREATE TABLE store_history (
  id bigint PRIMARY KEY CHECK (id = 1),
  history bigint NOT NULL,
  mark text NOT NULL
);
CREATE TABLE store_keys (
  name text COLLATE "C" PRIMARY KEY,
  sha256 bytea NOT NULL,
  node text NOT NULL
);
