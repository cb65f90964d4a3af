internal import TokenScriptRepoResources
internal import Platform
internal import Storage

extension ContractStore {
  /// The history of the tables since version 0.1.0, as `Steps` has it.
  ///
  /// In the columns of the three findings NULL means "not checked",
  /// and an empty text "passed". Times are in seconds since 1970. At a URL that names no signer or no chain they are an
  /// empty text and 0.
  static let migrations = [
    Migration(
      owner: "tokenscript", number: 5, sqlite: Resource(tokenscript_step5_sqlite_sql()).bytes),
    // SQLite gets its tables of readings anew by the eighth step.
    Migration(
      owner: "tokenscript", number: 6, sqlite: [],
      postgreSQL: Resource(tokenscript_step6_postgresql_sql()).bytes),
    // The status that a file was last read with, of which nodes on PostgreSQL make no use.
    Migration(
      owner: "tokenscript", number: 7, sqlite: "",
      postgreSQL: """
        ALTER TABLE tokenscript_files
          ADD COLUMN size BIGINT, ADD COLUMN device BIGINT, ADD COLUMN inode BIGINT,
          ADD COLUMN modified BIGINT, ADD COLUMN changed BIGINT;
        """, needs: 6),
    Migration(
      owner: "tokenscript", number: 8, sqlite: Resource(tokenscript_step8_sqlite_sql()).bytes,
      postgreSQL: Resource(tokenscript_step8_postgresql_sql()).bytes),
    // The network that a preview is charged to; empty if it is none.
    Migration(
      owner: "tokenscript", number: 9,
      sqlite: """
        ALTER TABLE tokenscript_previews ADD COLUMN network TEXT NOT NULL DEFAULT '';
        CREATE INDEX tokenscript_previews_by_network ON tokenscript_previews (network, expires, size);
        """,
      postgreSQL: """
        ALTER TABLE tokenscript_previews ADD COLUMN network TEXT COLLATE "C" NOT NULL DEFAULT '';
        CREATE INDEX tokenscript_previews_by_network ON tokenscript_previews (network, expires, size);
        """, needs: 8),
    Migration(
      owner: "tokenscript", number: 10, sqlite: Resource(tokenscript_step10_sqlite_sql()).bytes,
      postgreSQL: Resource(tokenscript_step10_postgresql_sql()).bytes),
  ]
}
