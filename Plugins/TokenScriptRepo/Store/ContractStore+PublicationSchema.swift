internal import Storage

extension ContractStore {
  /// The tables of publications and previews; and readings have the rules in their keys, so that nodes of other rules have
  /// their own.
  ///
  /// Content comes last in its row: sums over the other columns don't read it.
  static let publications = Migration(
    owner: "tokenscript", number: 8,
    sqlite: """
      DROP TABLE tokenscript_contracts;
      DROP TABLE tokenscript_files;
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
        changed INTEGER,
        PRIMARY KEY (path, sha256, rules)
      ) STRICT, WITHOUT ROWID;
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
      CREATE TABLE tokenscript_publishing (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        change INTEGER NOT NULL
      ) STRICT;
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
      CREATE INDEX tokenscript_published_by_change ON tokenscript_published (change);
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
      CREATE INDEX tokenscript_published_origins_by_origin
        ON tokenscript_published_origins (origin, origin_chain);
      CREATE TABLE tokenscript_accepted (
        signer TEXT NOT NULL,
        schema TEXT NOT NULL,
        sha256 BLOB NOT NULL,
        contract BLOB NOT NULL,
        chain INTEGER NOT NULL,
        withdrawn INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (signer, schema, sha256)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX tokenscript_accepted_by_place
        ON tokenscript_accepted (signer, schema, contract, chain);
      CREATE TABLE tokenscript_requests (
        kind TEXT NOT NULL,
        network TEXT NOT NULL,
        time INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX tokenscript_requests_by_network ON tokenscript_requests (kind, network, time);
      CREATE INDEX tokenscript_requests_by_time ON tokenscript_requests (time);
      CREATE TABLE tokenscript_previews (
        id TEXT PRIMARY KEY,
        size INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        facts TEXT NOT NULL,
        content BLOB NOT NULL
      ) STRICT;
      CREATE INDEX tokenscript_previews_by_expiry ON tokenscript_previews (expires);
      """,
    postgreSQL: """
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
      """)
}
