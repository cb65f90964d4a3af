-- The tables of SQLite's schema, which explains them.

CREATE TABLE tokenscript_files (
  path BYTEA NOT NULL,
  sha256 BYTEA NOT NULL,
  rules TEXT COLLATE "C" NOT NULL,
  refusal TEXT COLLATE "C",
  refusal_detail TEXT COLLATE "C",
  malformed BIGINT NOT NULL DEFAULT 0,
  schema TEXT COLLATE "C",
  root TEXT COLLATE "C",
  signer TEXT COLLATE "C",
  key TEXT COLLATE "C",
  kind TEXT COLLATE "C",
  signed BIGINT,
  signature TEXT COLLATE "C",
  signature_detail TEXT COLLATE "C",
  validity TEXT COLLATE "C",
  validity_detail TEXT COLLATE "C",
  trust TEXT COLLATE "C",
  trust_detail TEXT COLLATE "C",
  warnings TEXT COLLATE "C" NOT NULL DEFAULT '',
  expires BIGINT,
  self_signed BIGINT NOT NULL DEFAULT 0,
  authority TEXT COLLATE "C",
  title TEXT COLLATE "C",
  labels TEXT COLLATE "C" NOT NULL DEFAULT '',
  icon TEXT COLLATE "C",
  cids TEXT COLLATE "C" NOT NULL DEFAULT '',
  size BIGINT,
  device BIGINT,
  inode BIGINT,
  modified BIGINT,
  changed BIGINT,
  read_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (path, sha256, rules)
);
CREATE TABLE tokenscript_contracts (
  path BYTEA NOT NULL,
  sha256 BYTEA NOT NULL,
  rules TEXT COLLATE "C" NOT NULL,
  place BIGINT NOT NULL,
  contract BYTEA NOT NULL CHECK (length(contract) = 20),
  name TEXT COLLATE "C" NOT NULL,
  chain BIGINT NOT NULL CHECK (chain > 0),
  origin BIGINT NOT NULL,
  PRIMARY KEY (path, sha256, rules, place),
  FOREIGN KEY (path, sha256, rules) REFERENCES tokenscript_files ON DELETE CASCADE
);
CREATE TABLE tokenscript_sightings (
  schema TEXT COLLATE "C" NOT NULL,
  contract BYTEA NOT NULL CHECK (length(contract) = 20),
  sha256 BYTEA NOT NULL,
  first_seen BIGINT NOT NULL,
  PRIMARY KEY (schema, contract, sha256)
);
CREATE TABLE tokenscript_publications (
  contract BYTEA NOT NULL CHECK (length(contract) = 20),
  schema TEXT COLLATE "C" NOT NULL,
  bare BIGINT NOT NULL,
  signer TEXT COLLATE "C" NOT NULL,
  chain BIGINT NOT NULL,
  fingerprint BYTEA NOT NULL,
  since BIGINT NOT NULL,
  PRIMARY KEY (contract, schema, bare, signer, chain)
);
CREATE TABLE tokenscript_chain_answers (
  contract BYTEA NOT NULL CHECK (length(contract) = 20),
  chain BIGINT NOT NULL CHECK (chain > 0),
  owner BYTEA,
  scripts TEXT COLLATE "C" NOT NULL,
  registered TEXT COLLATE "C" NOT NULL,
  requested_at BIGINT NOT NULL,
  name TEXT COLLATE "C",
  roles TEXT COLLATE "C" NOT NULL DEFAULT '',
  entries TEXT COLLATE "C" NOT NULL DEFAULT '',
  change BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (contract, chain)
);
CREATE INDEX tokenscript_chain_answers_by_change ON tokenscript_chain_answers (change);

CREATE TABLE tokenscript_publishing (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  change BIGINT NOT NULL
);
CREATE TABLE tokenscript_published (
  signer TEXT COLLATE "C" NOT NULL,
  schema TEXT COLLATE "C" NOT NULL,
  contract BYTEA NOT NULL CHECK (length(contract) = 20),
  chain BIGINT NOT NULL CHECK (chain > 0),
  sha256 BYTEA NOT NULL,
  size BIGINT NOT NULL,
  signed BIGINT,
  accepted BIGINT NOT NULL,
  withdrawn BIGINT NOT NULL DEFAULT 0,
  network TEXT COLLATE "C",
  issuer BIGINT NOT NULL,
  origins BIGINT NOT NULL,
  change BIGINT NOT NULL,
  content BYTEA,
  PRIMARY KEY (signer, schema, contract, chain)
);
CREATE INDEX tokenscript_published_by_change ON tokenscript_published (change);
CREATE TABLE tokenscript_published_origins (
  signer TEXT COLLATE "C" NOT NULL,
  schema TEXT COLLATE "C" NOT NULL,
  contract BYTEA NOT NULL,
  chain BIGINT NOT NULL,
  place BIGINT NOT NULL,
  origin BYTEA NOT NULL CHECK (length(origin) = 20),
  origin_chain BIGINT NOT NULL CHECK (origin_chain > 0),
  name TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (signer, schema, contract, chain, place),
  FOREIGN KEY (signer, schema, contract, chain)
    REFERENCES tokenscript_published (signer, schema, contract, chain) ON DELETE CASCADE
);
CREATE INDEX tokenscript_published_origins_by_origin
  ON tokenscript_published_origins (origin, origin_chain);
CREATE TABLE tokenscript_accepted (
  signer TEXT COLLATE "C" NOT NULL,
  schema TEXT COLLATE "C" NOT NULL,
  sha256 BYTEA NOT NULL,
  contract BYTEA NOT NULL,
  chain BIGINT NOT NULL,
  withdrawn BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (signer, schema, sha256)
);
CREATE INDEX tokenscript_accepted_by_place
  ON tokenscript_accepted (signer, schema, contract, chain);
CREATE TABLE tokenscript_requests (
  kind TEXT COLLATE "C" NOT NULL,
  network TEXT COLLATE "C" NOT NULL,
  time BIGINT NOT NULL
);
CREATE INDEX tokenscript_requests_by_network ON tokenscript_requests (kind, network, time);
CREATE INDEX tokenscript_requests_by_time ON tokenscript_requests (time);
CREATE TABLE tokenscript_previews (
  id TEXT COLLATE "C" PRIMARY KEY,
  size BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  facts TEXT COLLATE "C" NOT NULL,
  network TEXT COLLATE "C" NOT NULL DEFAULT '',
  content BYTEA NOT NULL
);
CREATE INDEX tokenscript_previews_by_expiry ON tokenscript_previews (expires);
CREATE INDEX tokenscript_previews_by_network ON tokenscript_previews (network, expires, size);
