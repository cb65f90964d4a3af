internal import Storage

extension ContractStore {
  /// The tables.
  ///
  /// In the columns of the three findings NULL means "not checked",
  /// and an empty text "passed". Times are in seconds since 1970. At a URL that names no signer or no chain they are an
  /// empty text and 0.
  static let migrations = [
    Migration(
      owner: "tokenscript", number: 1,
      sqlite: """
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
          warnings TEXT NOT NULL DEFAULT '',
          PRIMARY KEY (path, sha256)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE tokenscript_contracts (
          path ANY NOT NULL,
          sha256 BLOB NOT NULL,
          place INTEGER NOT NULL,
          contract BLOB NOT NULL CHECK (length(contract) = 20),
          name TEXT NOT NULL,
          network TEXT,
          origin INTEGER NOT NULL,
          PRIMARY KEY (path, sha256, place),
          FOREIGN KEY (path, sha256) REFERENCES tokenscript_files ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX tokenscript_contracts_by_contract ON tokenscript_contracts (contract);
        CREATE TABLE tokenscript_sightings (
          schema TEXT NOT NULL,
          contract BLOB NOT NULL CHECK (length(contract) = 20),
          sha256 BLOB NOT NULL,
          first_seen INTEGER NOT NULL,
          PRIMARY KEY (schema, contract, sha256)
        ) STRICT, WITHOUT ROWID;
        """),
    Migration(
      owner: "tokenscript", number: 2,
      sqlite: """
        CREATE TABLE tokenscript_answers (
          contract BLOB NOT NULL CHECK (length(contract) = 20),
          schema TEXT NOT NULL,
          bare INTEGER NOT NULL,
          signer TEXT NOT NULL,
          fingerprint BLOB NOT NULL,
          since INTEGER NOT NULL,
          PRIMARY KEY (contract, schema, bare, signer)
        ) STRICT, WITHOUT ROWID;
        """),
    Migration(
      owner: "tokenscript", number: 3,
      sqlite: "ALTER TABLE tokenscript_files ADD COLUMN expires INTEGER"),
    // Readings are made anew, and publication times had no chain.
    Migration(
      owner: "tokenscript", number: 4,
      sqlite: """
        DROP TABLE tokenscript_contracts;
        DELETE FROM tokenscript_files;
        ALTER TABLE tokenscript_files ADD COLUMN self_signed INTEGER NOT NULL DEFAULT 0;
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
        CREATE INDEX tokenscript_contracts_by_contract ON tokenscript_contracts (contract);
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
        INSERT INTO tokenscript_publications
          SELECT contract, schema, bare, signer, 0, fingerprint, since FROM tokenscript_answers;
        DROP TABLE tokenscript_answers;
        """),
    Migration(
      owner: "tokenscript", number: 5,
      sqlite: """
        CREATE TABLE tokenscript_chain_words (
          contract BLOB NOT NULL CHECK (length(contract) = 20),
          chain INTEGER NOT NULL CHECK (chain > 0),
          owner BLOB,
          scripts TEXT NOT NULL,
          registered TEXT NOT NULL,
          asked INTEGER NOT NULL,
          PRIMARY KEY (contract, chain)
        ) STRICT, WITHOUT ROWID;
        """),
    // Paths were text if their bytes were UTF-8, and else blobs; PostgreSQL knows no such column.
    Migration(
      owner: "tokenscript", number: 6,
      sqlite: """
        CREATE TABLE tokenscript_read_files (
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
          PRIMARY KEY (path, sha256)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO tokenscript_read_files
          SELECT CAST(path AS BLOB), sha256, rules, refusal, refusal_detail, malformed, schema, root,
            signer, key, kind, signed, signature, signature_detail, validity, validity_detail,
            trust, trust_detail, warnings, expires, self_signed
          FROM tokenscript_files;
        CREATE TABLE tokenscript_read_contracts (
          path BLOB NOT NULL,
          sha256 BLOB NOT NULL,
          place INTEGER NOT NULL,
          contract BLOB NOT NULL CHECK (length(contract) = 20),
          name TEXT NOT NULL,
          chain INTEGER NOT NULL CHECK (chain > 0),
          origin INTEGER NOT NULL,
          PRIMARY KEY (path, sha256, place),
          FOREIGN KEY (path, sha256) REFERENCES tokenscript_files ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        INSERT INTO tokenscript_read_contracts
          SELECT CAST(path AS BLOB), sha256, place, contract, name, chain, origin
          FROM tokenscript_contracts;
        DROP TABLE tokenscript_contracts;
        DROP TABLE tokenscript_files;
        ALTER TABLE tokenscript_read_files RENAME TO tokenscript_files;
        ALTER TABLE tokenscript_read_contracts RENAME TO tokenscript_contracts;
        CREATE INDEX tokenscript_contracts_by_contract ON tokenscript_contracts (contract);
        """, postgreSQL: postgreSQLSchema),
  ]

  /// The tables of the migrations up to the sixth, which say what they hold.
  private static let postgreSQLSchema: StaticString = """
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
    """
}
