-- The same as in SQLite.

DELETE FROM tokenscript_files;
ALTER TABLE tokenscript_contracts
  DROP CONSTRAINT tokenscript_contracts_path_sha256_fkey,
  DROP CONSTRAINT tokenscript_contracts_pkey,
  ADD COLUMN rules TEXT COLLATE "C" NOT NULL;
ALTER TABLE tokenscript_files
  DROP CONSTRAINT tokenscript_files_pkey, ADD PRIMARY KEY (path, sha256, rules);
ALTER TABLE tokenscript_contracts
  ADD PRIMARY KEY (path, sha256, rules, place),
  ADD FOREIGN KEY (path, sha256, rules) REFERENCES tokenscript_files ON DELETE CASCADE;
DROP INDEX tokenscript_contracts_by_contract;
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
  content BYTEA NOT NULL
);
CREATE INDEX tokenscript_previews_by_expiry ON tokenscript_previews (expires);
