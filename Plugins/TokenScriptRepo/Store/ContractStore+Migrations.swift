internal import TokenScriptRepoResources
internal import Platform
internal import Storage

extension ContractStore {
  /// The steps of the tables' schema.
  ///
  /// In the columns of the three findings NULL means "not checked", and an empty text "passed". Times are in seconds since
  /// 1970. At a URL that names no signer or no chain these are an empty text and 0.
  static let migrations = [
    Migration(
      owner: "tokenscript", number: 1, sqlite: Resource(tokenscript_schema_sqlite_sql()).bytes,
      postgreSQL: Resource(tokenscript_schema_postgresql_sql()).bytes)
  ]
}
