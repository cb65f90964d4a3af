-- What tokenscript kept after its migration 10, as of commit cce345c5.
BEGIN TRANSACTION;
CREATE TABLE store_clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  time INTEGER NOT NULL
) STRICT;
CREATE TABLE store_history (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  history INTEGER NOT NULL,
  mark TEXT NOT NULL
) STRICT;
INSERT INTO "store_history" VALUES(1,2845027234527392875,'16302510 1795628271618029803');
CREATE TABLE store_migrations (owner TEXT NOT NULL, number INTEGER NOT NULL, applied_at INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (owner, number)) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('tokenscript',1,1764000000);
INSERT INTO "store_migrations" VALUES('tokenscript',2,1764000000);
INSERT INTO "store_migrations" VALUES('tokenscript',3,1764000000);
INSERT INTO "store_migrations" VALUES('tokenscript',4,1764000000);
INSERT INTO "store_migrations" VALUES('tokenscript',5,1764000000);
INSERT INTO "store_migrations" VALUES('tokenscript',6,1795422635);
INSERT INTO "store_migrations" VALUES('tokenscript',7,1795471627);
INSERT INTO "store_migrations" VALUES('tokenscript',8,1795597621);
INSERT INTO "store_migrations" VALUES('tokenscript',9,1795623853);
INSERT INTO "store_migrations" VALUES('tokenscript',10,1795628271);
CREATE TABLE tokenscript_accepted (
  signer TEXT NOT NULL,
  schema TEXT NOT NULL,
  sha256 BLOB NOT NULL,
  contract BLOB NOT NULL,
  chain INTEGER NOT NULL,
  withdrawn INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (signer, schema, sha256)
) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_accepted" VALUES('a','a',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',X'0000000000000000000000000000000000000000',1,0);
CREATE TABLE tokenscript_chain_words (
          contract BLOB NOT NULL CHECK (length(contract) = 20),
          chain INTEGER NOT NULL CHECK (chain > 0),
          owner BLOB,
          scripts TEXT NOT NULL,
          registered TEXT NOT NULL,
          asked INTEGER NOT NULL, name TEXT, roles TEXT NOT NULL DEFAULT '', entries TEXT NOT NULL DEFAULT '', change INTEGER NOT NULL DEFAULT 0,
          PRIMARY KEY (contract, chain)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_chain_words" VALUES(X'0000000000000000000000000000000000000000',1,NULL,'a','a',1,NULL,'','',0);
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
INSERT INTO "tokenscript_contracts" VALUES(X'31',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F','a',1,X'0000000000000000000000000000000000000000','a',1,1);
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
  size INTEGER,
  device INTEGER,
  inode INTEGER,
  modified INTEGER,
  changed INTEGER, authority TEXT, title TEXT, labels TEXT NOT NULL DEFAULT '', icon TEXT, cids TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (path, sha256, rules)
) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_files" VALUES(X'31',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F','a',NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'a',NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,'');
CREATE TABLE tokenscript_previews (
  id TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  facts TEXT NOT NULL,
  content BLOB NOT NULL
, network TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "tokenscript_previews" VALUES('a',1,1,'a',X'61','');
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
INSERT INTO "tokenscript_publications" VALUES(X'0000000000000000000000000000000000000000','a',1,'a',0,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1);
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
INSERT INTO "tokenscript_published" VALUES('a','a',X'0000000000000000000000000000000000000000',1,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1,1,1,0,'a',1,1,1,X'61');
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
INSERT INTO "tokenscript_published_origins" VALUES('a','a',X'0000000000000000000000000000000000000000',1,1,X'0000000000000000000000000000000000000000',1,'a');
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
INSERT INTO "tokenscript_requests" VALUES('a','a',1);
CREATE TABLE tokenscript_sightings (
          schema TEXT NOT NULL,
          contract BLOB NOT NULL CHECK (length(contract) = 20),
          sha256 BLOB NOT NULL,
          first_seen INTEGER NOT NULL,
          PRIMARY KEY (schema, contract, sha256)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_sightings" VALUES('a',X'0000000000000000000000000000000000000000',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1);
CREATE INDEX tokenscript_published_by_change ON tokenscript_published (change);
CREATE INDEX tokenscript_published_origins_by_origin
  ON tokenscript_published_origins (origin, origin_chain);
CREATE INDEX tokenscript_accepted_by_place
  ON tokenscript_accepted (signer, schema, contract, chain);
CREATE INDEX tokenscript_requests_by_network ON tokenscript_requests (kind, network, time);
CREATE INDEX tokenscript_requests_by_time ON tokenscript_requests (time);
CREATE INDEX tokenscript_previews_by_expiry ON tokenscript_previews (expires);
CREATE INDEX tokenscript_previews_by_network ON tokenscript_previews (network, expires, size);
CREATE INDEX tokenscript_chain_words_by_change ON tokenscript_chain_words (change);
COMMIT;
