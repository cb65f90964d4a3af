-- The tables of version 0.1.0 as SQLite has them.

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
  read_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (path, sha256)
);
CREATE TABLE tokenscript_contracts (
  path BYTEA NOT NULL,
  sha256 BYTEA NOT NULL,
  place BIGINT NOT NULL,
  contract BYTEA NOT NULL CHECK (length(contract) = 20),
  name TEXT COLLATE "C" NOT NULL,
  chain BIGINT NOT NULL CHECK (chain > 0),
  origin BIGINT NOT NULL,
  PRIMARY KEY (path, sha256, place),
  FOREIGN KEY (path, sha256) REFERENCES tokenscript_files ON DELETE CASCADE
);
CREATE INDEX tokenscript_contracts_by_contract ON tokenscript_contracts (contract);
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
CREATE TABLE tokenscript_chain_words (
  contract BYTEA NOT NULL CHECK (length(contract) = 20),
  chain BIGINT NOT NULL CHECK (chain > 0),
  owner BYTEA,
  scripts TEXT COLLATE "C" NOT NULL,
  registered TEXT COLLATE "C" NOT NULL,
  asked BIGINT NOT NULL,
  PRIMARY KEY (contract, chain)
);
