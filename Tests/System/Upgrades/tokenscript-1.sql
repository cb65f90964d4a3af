-- What tokenscript kept after its migration 1, as of commit cde160a3.
BEGIN TRANSACTION;
CREATE TABLE store_migrations (
  owner TEXT NOT NULL,
  number INTEGER NOT NULL,
  applied_at INTEGER NOT NULL DEFAULT (unixepoch()),
  PRIMARY KEY (owner, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('tokenscript',1,1700000000);
CREATE TABLE tokenscript_accepted (
  signer TEXT NOT NULL,
  schema TEXT NOT NULL,
  sha256 BLOB NOT NULL,
  contract BLOB NOT NULL,
  chain INTEGER NOT NULL,
  withdrawn INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (signer, schema, sha256)
) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_accepted" VALUES('x','x',X'78',X'78',1,0);
CREATE TABLE tokenscript_chain_answers (
  contract BLOB NOT NULL CHECK (length(contract) = 20),
  chain INTEGER NOT NULL CHECK (chain > 0),
  owner BLOB,
  scripts TEXT NOT NULL,
  registered TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  name TEXT,
  roles TEXT NOT NULL DEFAULT '',
  entries TEXT NOT NULL DEFAULT '',
  change INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (contract, chain)
) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_chain_answers" VALUES(X'0707070707070707070707070707070707070707',1,NULL,'x','x',1,NULL,'','',0);
CREATE TABLE tokenscript_contracts (
  path BLOB NOT NULL,
  sha256 BLOB NOT NULL,
  rules TEXT NOT NULL,
  place INTEGER NOT NULL,
  contract BLOB NOT NULL CHECK (length(contract) = 20),
  name TEXT NOT NULL,
  chain INTEGER NOT NULL CHECK (chain > 0),
  origin INTEGER NOT NULL,
  PRIMARY KEY (path, sha256, rules, place),
  FOREIGN KEY (path, sha256, rules) REFERENCES tokenscript_files ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_contracts" VALUES(X'78',X'78','x',1,X'0707070707070707070707070707070707070707','x',1,1);
CREATE TABLE tokenscript_files (
  path BLOB NOT NULL,
  sha256 BLOB NOT NULL,
  rules TEXT NOT NULL,
  refusal TEXT,
  refusal_detail TEXT,
  malformed INTEGER NOT NULL DEFAULT 0,
  schema TEXT,
  root TEXT,
  signer TEXT,
  key TEXT,
  kind TEXT,
  signed INTEGER,
  signature TEXT,
  signature_detail TEXT,
  validity TEXT,
  validity_detail TEXT,
  trust TEXT,
  trust_detail TEXT,
  warnings TEXT NOT NULL DEFAULT '',
  expires INTEGER,
  self_signed INTEGER NOT NULL DEFAULT 0,
  authority TEXT,
  title TEXT,
  labels TEXT NOT NULL DEFAULT '',
  icon TEXT,
  cids TEXT NOT NULL DEFAULT '',
  -- The status of the file when it was read last.
  size INTEGER,
  device INTEGER,
  inode INTEGER,
  modified INTEGER,
  changed INTEGER,
  PRIMARY KEY (path, sha256, rules)
) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_files" VALUES(X'78',X'78','x',NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,0,NULL,NULL,'',NULL,'',NULL,NULL,NULL,NULL,NULL);
CREATE TABLE tokenscript_previews (
  id TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  facts TEXT NOT NULL,
  -- The network that the preview is charged to; empty if it is none.
  network TEXT NOT NULL DEFAULT '',
  content BLOB NOT NULL
) STRICT;
INSERT INTO "tokenscript_previews" VALUES('x',1,1,'x','',X'78');
CREATE TABLE tokenscript_publications (
  contract BLOB NOT NULL CHECK (length(contract) = 20),
  schema TEXT NOT NULL,
  bare INTEGER NOT NULL,
  signer TEXT NOT NULL,
  chain INTEGER NOT NULL,
  fingerprint BLOB NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (contract, schema, bare, signer, chain)
) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_publications" VALUES(X'0707070707070707070707070707070707070707','x',1,'x',1,X'78',1);
CREATE TABLE tokenscript_published (
  signer TEXT NOT NULL,
  schema TEXT NOT NULL,
  contract BLOB NOT NULL CHECK (length(contract) = 20),
  chain INTEGER NOT NULL CHECK (chain > 0),
  sha256 BLOB NOT NULL,
  size INTEGER NOT NULL,
  signed INTEGER,
  accepted INTEGER NOT NULL,
  withdrawn INTEGER NOT NULL DEFAULT 0,
  network TEXT,
  issuer INTEGER NOT NULL,
  origins INTEGER NOT NULL,
  change INTEGER NOT NULL,
  content BLOB,
  PRIMARY KEY (signer, schema, contract, chain)
) STRICT;
INSERT INTO "tokenscript_published" VALUES('x','x',X'0707070707070707070707070707070707070707',1,X'78',1,NULL,1,0,NULL,1,1,1,NULL);
CREATE TABLE tokenscript_published_origins (
  signer TEXT NOT NULL,
  schema TEXT NOT NULL,
  contract BLOB NOT NULL,
  chain INTEGER NOT NULL,
  place INTEGER NOT NULL,
  origin BLOB NOT NULL CHECK (length(origin) = 20),
  origin_chain INTEGER NOT NULL CHECK (origin_chain > 0),
  name TEXT NOT NULL,
  PRIMARY KEY (signer, schema, contract, chain, place),
  FOREIGN KEY (signer, schema, contract, chain)
    REFERENCES tokenscript_published (signer, schema, contract, chain) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_published_origins" VALUES('x','x',X'0707070707070707070707070707070707070707',1,1,X'0707070707070707070707070707070707070707',1,'x');
CREATE TABLE tokenscript_publishing (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  change INTEGER NOT NULL
) STRICT;
INSERT INTO "tokenscript_publishing" VALUES(1,1);
CREATE TABLE tokenscript_requests (
  kind TEXT NOT NULL,
  network TEXT NOT NULL,
  time INTEGER NOT NULL
) STRICT;
INSERT INTO "tokenscript_requests" VALUES('x','x',1);
CREATE TABLE tokenscript_sightings (
  schema TEXT NOT NULL,
  contract BLOB NOT NULL CHECK (length(contract) = 20),
  sha256 BLOB NOT NULL,
  first_seen INTEGER NOT NULL,
  PRIMARY KEY (schema, contract, sha256)
) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_sightings" VALUES('x',X'0707070707070707070707070707070707070707',X'78',1);
CREATE INDEX tokenscript_chain_answers_by_change ON tokenscript_chain_answers (change);
CREATE INDEX tokenscript_published_by_change ON tokenscript_published (change);
CREATE INDEX tokenscript_published_origins_by_origin
  ON tokenscript_published_origins (origin, origin_chain);
CREATE INDEX tokenscript_accepted_by_place
  ON tokenscript_accepted (signer, schema, contract, chain);
CREATE INDEX tokenscript_requests_by_network ON tokenscript_requests (kind, network, time);
CREATE INDEX tokenscript_requests_by_time ON tokenscript_requests (time);
CREATE INDEX tokenscript_previews_by_expiry ON tokenscript_previews (expires);
CREATE INDEX tokenscript_previews_by_network ON tokenscript_previews (network, expires, size);
COMMIT;
