internal import Storage

extension ContractStore {
  /// The history of the tables since version 0.1.0.
  ///
  /// In the columns of the three findings NULL means "not checked",
  /// and an empty text "passed". Times are in seconds since 1970. At a URL that names no signer or no chain they are an
  /// empty text and 0.
  static let migrations = [
    Migration(owner: "tokenscript", number: 5, sqlite: sqliteSchema),
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
    // The status that a file was last read with, of which nodes on PostgreSQL make no use.
    Migration(
      owner: "tokenscript", number: 7,
      sqlite: """
        ALTER TABLE tokenscript_files ADD COLUMN size INTEGER;
        ALTER TABLE tokenscript_files ADD COLUMN device INTEGER;
        ALTER TABLE tokenscript_files ADD COLUMN inode INTEGER;
        ALTER TABLE tokenscript_files ADD COLUMN modified INTEGER;
        ALTER TABLE tokenscript_files ADD COLUMN changed INTEGER;
        """,
      postgreSQL: """
        ALTER TABLE tokenscript_files
          ADD COLUMN size BIGINT, ADD COLUMN device BIGINT, ADD COLUMN inode BIGINT,
          ADD COLUMN modified BIGINT, ADD COLUMN changed BIGINT;
        """, needs: 6),
    publications,
  ]
}
