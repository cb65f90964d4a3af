internal import Storage

extension ContractStore {
  /// The tables.
  ///
  /// A path is text, or a blob if its bytes are not UTF-8. In the columns of the three findings NULL means "not checked",
  /// and an empty text "passed". Times are in seconds since 1970. At a URL that names no signer or no chain they are an
  /// empty text and 0.
  static let migrations = [
    Migration(
      owner: "tokenscript", number: 1,
      sql: """
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
      sql: """
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
      sql: "ALTER TABLE tokenscript_files ADD COLUMN expires INTEGER"),
    // Readings are made anew, and publication times had no chain.
    Migration(
      owner: "tokenscript", number: 4,
      sql: """
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
      sql: """
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
  ]
}
