-- What tokenscript kept after its migration 4, as of commit 9d8245a.
BEGIN TRANSACTION;
CREATE TABLE store_migrations (owner TEXT NOT NULL, number INTEGER NOT NULL, applied_at INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (owner, number)) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('tokenscript',1,1764000000);
INSERT INTO "store_migrations" VALUES('tokenscript',2,1764000000);
INSERT INTO "store_migrations" VALUES('tokenscript',3,1764000000);
INSERT INTO "store_migrations" VALUES('tokenscript',4,1764000000);
CREATE TABLE tokenscript_contracts (
          path ANY NOT NULL,
          sha256 BLOB NOT NULL,
          place INTEGER NOT NULL,
          contract BLOB NOT NULL CHECK (length(contract) = 20),
          name TEXT NOT NULL,
          chain INTEGER NOT NULL CHECK (chain > 0),
          origin INTEGER NOT NULL,
          PRIMARY KEY (path, sha256, place),
          FOREIGN KEY (path, sha256) REFERENCES tokenscript_files ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_contracts" VALUES(1,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1,X'0000000000000000000000000000000000000000','a',1,1);
CREATE TABLE tokenscript_files (
          path ANY NOT NULL,
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
          warnings TEXT NOT NULL DEFAULT '', expires INTEGER, self_signed INTEGER NOT NULL DEFAULT 0,
          PRIMARY KEY (path, sha256)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_files" VALUES(1,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F','a',NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'a',NULL,1);
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
CREATE TABLE tokenscript_sightings (
          schema TEXT NOT NULL,
          contract BLOB NOT NULL CHECK (length(contract) = 20),
          sha256 BLOB NOT NULL,
          first_seen INTEGER NOT NULL,
          PRIMARY KEY (schema, contract, sha256)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "tokenscript_sightings" VALUES('a',X'0000000000000000000000000000000000000000',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1);
CREATE INDEX tokenscript_contracts_by_contract ON tokenscript_contracts (contract);
COMMIT;
