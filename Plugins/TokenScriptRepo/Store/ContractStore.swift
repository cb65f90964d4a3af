package import Cryptography
package import Ethereum
public import Storage

internal import Platform
internal import TokenScriptRepoResources

/// The SQL of the repository: the readings of files, and the times at which bytes were first seen and published.
struct ContractStore: Sendable {
  /// The bytes of a file at a path.
  struct Key: Hashable, Sendable {
    /// The path.
    let path: RepositoryPath
    /// The SHA-256 of the bytes.
    let digest: SHA256.Digest
  }

  /// The meaning of a file, or the reason why it has none.
  typealias Reading = Result<TokenScriptFile, FileRefusal>

  /// The stored readings and times.
  struct Memory: Sendable {
    /// The readings under the present rules.
    var readings: [Key: Reading] = [:]
    /// The digest of each file that was last read with a status that no other bytes at the path have, with that status.
    var seen: [RepositoryPath: (digest: SHA256.Digest, status: FileStatus)] = [:]
    /// The keys of readings under other rules, with these.
    var outdated: [(key: Key, rules: String)] = []
    /// The times at which bytes were first seen for a contract.
    var sightings: [IndexBuilder.Sighting: Timestamp] = [:]
    /// The publications at URLs; empty unless they were requested.
    var publications: [PublicationTimes.URL: PublicationTimes.DatedResponse] = [:]
  }

  let store: Store
  /// How many users one address stands for.
  let usersPerAddress: Int

  /// Makes the repository's part of a store.
  init(_ store: Store, usersPerAddress: Int = 1) {
    self.store = store
    self.usersPerAddress = usersPerAddress
  }

  /// Reads everything that is stored.
  ///
  /// - Parameters:
  ///   - rules: the fingerprint of everything that a reading depends on besides the bytes.
  ///   - withPublicationTimes: whether the publications at URLs are read too.
  /// - Returns: the readings under these rules, the keys of the others, and the times.
  /// - Throws: ``StoreError``.
  func memory(under rules: String, withPublicationTimes: Bool = false) async throws -> Memory {
    try await store.read { snapshot in
      var contracts: [Key: [TokenScriptFile.Contract]] = [:]
      try snapshot.forEach(
        """
        SELECT path, sha256, contract, name, chain, origin FROM tokenscript_contracts
        WHERE rules = ? ORDER BY path, sha256, place
        """, rules
      ) { row in
        let key = Key(path: try row[0], digest: try row[1])
        contracts[key, default: []].append(
          TokenScriptFile.Contract(
            address: try row[2], name: try row[3], chain: try row[4], isOrigin: try row[5]))
      }
      var memory = Memory()
      try snapshot.forEach(
        """
        SELECT path, sha256, rules, refusal, refusal_detail, malformed, schema, root, signer, key,
          kind, signed, signature, signature_detail, validity, validity_detail, trust,
          trust_detail, warnings, expires, self_signed, size, device, inode, modified, changed,
          authority, title, labels, icon, cids
        FROM tokenscript_files
        """
      ) { row in
        let key = Key(path: try row[0], digest: try row[1])
        let found: String = try row[2]
        guard found == rules else {
          memory.outdated.append((key, found))
          return
        }
        memory.readings[key] = try Self.reading(row, contracts[key] ?? [])
        if let status = try Self.status(row) { memory.seen[key.path] = (key.digest, status) }
      }
      try snapshot.forEach(
        "SELECT schema, contract, sha256, first_seen FROM tokenscript_sightings"
      ) { row in
        let sighting = IndexBuilder.Sighting(
          schema: try row[0], contract: try row[1], digest: try row[2])
        memory.sightings[sighting] = Timestamp(seconds: try row[3])
      }
      guard withPublicationTimes else { return memory }
      try snapshot.forEach(
        """
        SELECT contract, schema, bare, signer, chain, fingerprint, since
        FROM tokenscript_publications
        """
      ) { row in
        let signer: String = try row[3]
        let query = FileQuery(
          signer: signer.isEmpty ? nil : signer, chain: ChainID(try row[4] as Int64))
        let url = PublicationTimes.URL(
          contract: try row[0], schema: try row[1], isBare: try row[2], query: query)
        memory.publications[url] = PublicationTimes.DatedResponse(
          fingerprint: try row[5], since: Timestamp(seconds: try row[6]))
      }
      return memory
    }
  }

  /// Stores new readings and times, and deletes readings.
  ///
  /// - Parameters:
  ///   - rules: the fingerprint of everything that they depend on besides the bytes.
  ///   - sightings: the times at which bytes were first seen.
  ///   - statuses: the statuses of files with stored readings, as far as they are new.
  ///   - forgotten: the readings to delete before the new ones are stored.
  /// - Throws: ``StoreError``. A part may be stored then, and is valid.
  func remember(
    _ readings: [(key: Key, reading: Reading)], under rules: String,
    sightings: [IndexBuilder.Sighting: Timestamp],
    statuses: [(key: Key, status: FileStatus)] = [],
    forgetting forgotten: [(key: Key, rules: String)]
  ) async throws {
    try await write(forgotten) { item, transaction in
      // On PostgreSQL another node may have other files, or other rules.
      try transaction.execute(
        """
        DELETE FROM tokenscript_files WHERE path = ? AND sha256 = ? AND rules = ?
          /*postgresql AND read_at < clock_timestamp() - interval '7 days' */
        """, item.key.path, item.key.digest, item.rules)
    }
    try await write(Array(sightings)) { sighting, transaction in
      try transaction.execute(
        "INSERT INTO tokenscript_sightings VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        sighting.key.schema, sighting.key.contract, sighting.key.digest,
        sighting.value.seconds)
    }
    try await write(readings) { item, transaction in
      try Self.insert(item.key, item.reading, rules, transaction)
    }
    // Nodes that share a store each have their own files.
    try await write(store.isShared ? [] : statuses) { item, transaction in
      let (key, status) = item
      try transaction.execute(
        """
        UPDATE tokenscript_files SET size = ?, device = ?, inode = ?, modified = ?, changed = ?
        WHERE path = ? AND sha256 = ? AND rules = ?
        """, status.size, Int64(bitPattern: status.identity.device),
        Int64(bitPattern: status.identity.inode), status.modified, status.changed, key.path,
        key.digest, rules)
    }
  }

  /// Stores the publications that have begun, and deletes those that have ended. One that another node has stored with the
  /// same response keeps its beginning.
  ///
  /// - Throws: ``StoreError``. A part may be stored then, and is valid.
  func remember(_ times: PublicationTimes) async throws {
    try await write(times.ended) { url, transaction in
      try transaction.execute(
        """
        DELETE FROM tokenscript_publications
        WHERE contract = ? AND schema = ? AND bare = ? AND signer = ? AND chain = ?
        """, url.contract, url.schema, url.isBare, url.query.signer ?? "",
        url.query.chain?.number ?? 0)
    }
    try await write(Array(times.begun)) { item, transaction in
      let (url, publication) = item
      try transaction.execute(
        """
        INSERT INTO tokenscript_publications VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (contract, schema, bare, signer, chain)
        DO UPDATE SET fingerprint = excluded.fingerprint, since = CASE
          WHEN tokenscript_publications.fingerprint = excluded.fingerprint
          THEN tokenscript_publications.since ELSE excluded.since END
        """, url.contract, url.schema, url.isBare, url.query.signer ?? "",
        url.query.chain?.number ?? 0, publication.fingerprint, publication.since.seconds)
    }
  }

  /// Writes elements in transactions of 500, so that other services' writes come in between.
  func write<Element: Sendable>(
    _ elements: [Element],
    _ write: @escaping @Sendable (Element, borrowing Transaction) throws -> Void
  ) async throws {
    for batch in Self.batches(elements) {
      try await store.write { transaction in
        for element in batch { try write(element, transaction) }
      }
    }
  }

  /// Returns elements in parts of 500.
  static func batches<Element>(_ elements: [Element]) -> [ArraySlice<Element>] {
    let size = 500
    return stride(from: 0, to: elements.count, by: size).map { elements[$0...].prefix(size) }
  }

  /// Returns everything that is stored if another node has stored earlier times than an index has, so that all nodes say the
  /// same; nil if none has.
  ///
  /// - Throws: ``StoreError``.
  func memoryOfOthers(than builder: IndexBuilder, under rules: String) async throws -> Memory? {
    let begun = builder.publicationTimes?.begun ?? [:]
    guard store.isShared, !builder.newSightings.isEmpty || !begun.isEmpty else { return nil }
    let memory = try await memory(
      under: rules, withPublicationTimes: builder.publicationTimes != nil)
    let isSame =
      builder.newSightings.allSatisfy { memory.sightings[$0.key] == $0.value }
      && begun.allSatisfy { memory.publications[$0.key] == $0.value }
    return isSame ? nil : memory
  }

  /// Records that readings are in use on a shared store, so that no node deletes them.
  ///
  /// - Parameters:
  ///   - rules: the fingerprint of everything that they depend on besides the bytes.
  /// - Throws: ``StoreError``.
  func keep(_ keys: [Key], under rules: String) async throws {
    guard store.isShared else { return }
    try await write(keys) { key, transaction in
      try transaction.execute(
        """
        UPDATE tokenscript_files SET read_at = clock_timestamp()
        WHERE path = ? AND sha256 = ? AND rules = ?
          AND read_at < clock_timestamp() - interval '1 day'
        """, key.path, key.digest, rules)
    }
  }

  private static func insert(
    _ key: Key, _ reading: Reading, _ rules: String, _ transaction: borrowing Transaction
  ) throws {
    switch reading {
    case .failure(let refusal):
      try transaction.execute(
        """
        INSERT INTO tokenscript_files (path, sha256, rules, refusal, refusal_detail, malformed)
        VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
        """, key.path, key.digest, rules, refusal.reason, refusal.detail, refusal.isMalformed)
    case .success(let file):
      try transaction.execute(
        """
        INSERT INTO tokenscript_files (path, sha256, rules, schema, root, signer, key, kind,
          signed, signature, signature_detail, validity, validity_detail, trust, trust_detail,
          warnings, expires, self_signed, authority, title, labels, icon, cids)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING
        """, key.path, key.digest, rules, file.schema, file.root, file.signer?.commonName,
        file.signer?.key, file.signer?.kind, file.signer?.time?.seconds, file.signature.reason,
        file.signature.detail, file.validity.reason, file.validity.detail, file.trust.reason,
        file.trust.detail, file.warnings.joined(separator: "\n"),
        file.signer?.expires?.seconds, file.signer?.isSelfSigned ?? false,
        file.signer?.authority, file.title, file.labels.joined(separator: "\n"), file.icon,
        file.cids.joined(separator: "\n"))
      for (place, contract) in file.contracts.enumerated() {
        try transaction.execute(
          """
          INSERT INTO tokenscript_contracts
            (path, sha256, rules, place, contract, name, chain, origin)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
          """, key.path, key.digest, rules, place, contract.address, contract.name,
          contract.chain, contract.isOrigin)
      }
    }
  }

  /// Reads texts of a line each.
  static func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

  /// Reads the status of a file, or nil if none is stored.
  private static func status(_ row: borrowing Row) throws -> FileStatus? {
    guard let size: Int = try row[21], let device: Int64 = try row[22],
      let inode: Int64 = try row[23], let modified: Int64 = try row[24],
      let changed: Int64 = try row[25]
    else { return nil }
    return FileStatus(
      size: size,
      identity: FileStatus.Identity(
        device: UInt64(bitPattern: device), inode: UInt64(bitPattern: inode)),
      modified: modified, changed: changed)
  }

  private static func reading(
    _ row: borrowing Row, _ contracts: [TokenScriptFile.Contract]
  ) throws -> Reading {
    if let reason: String = try row[3] {
      return .failure(
        FileRefusal(reason: reason, detail: try row[4] ?? "", isMalformed: try row[5]))
    }
    var file = TokenScriptFile(schema: try row[6], root: try row[7], contracts: contracts)
    if let key: String = try row[9] {
      file.signer = TokenScriptFile.Signer(
        commonName: try row[8], key: key, authority: try row[26], kind: try row[10],
        time: (try row[11] as Int64?).map(Timestamp.init(seconds:)),
        expires: (try row[19] as Int64?).map(Timestamp.init(seconds:)), isSelfSigned: try row[20])
    }
    file.signature = TokenScriptFile.Finding(reason: try row[12], detail: try row[13])
    file.validity = TokenScriptFile.Finding(reason: try row[14], detail: try row[15])
    file.trust = TokenScriptFile.Finding(reason: try row[16], detail: try row[17])
    file.warnings = lines(try row[18])
    file.title = try row[27]
    file.labels = lines(try row[28])
    file.icon = try row[29]
    file.cids = lines(try row[30])
    return .success(file)
  }
}

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

extension SchemaVersion: DatabaseValueConvertible {
  /// The version as text.
  package var databaseValue: DatabaseValue { .text(path) }

  /// Reads a version from text.
  package init?(databaseValue: DatabaseValue) {
    guard case .text(let text) = databaseValue else { return nil }
    self.init(text)
  }
}

extension RepositoryPath: DatabaseValueConvertible {
  /// The path's bytes, which need not be UTF-8.
  var databaseValue: DatabaseValue { .blob(bytes) }

  /// Reads a path from its bytes.
  init?(databaseValue: DatabaseValue) {
    guard case .blob(let bytes) = databaseValue else { return nil }
    self.init(bytes: bytes)
  }
}

extension EthereumAddress: DatabaseValueConvertible {}
extension SHA256.Digest: DatabaseValueConvertible {}

extension ChainID: DatabaseValueConvertible {
  /// The chain's number.
  package var databaseValue: DatabaseValue { .integer(number) }

  /// Reads a chain from its number.
  package init?(databaseValue: DatabaseValue) {
    guard case .integer(let number) = databaseValue else { return nil }
    self.init(number)
  }
}

extension TokenScriptFile.Finding {
  /// The first column of a finding: NULL for "not checked", an empty text for "passed".
  var reason: String? {
    switch self {
    case .unchecked: nil
    case .passed: ""
    case .failed(let refusal): refusal.reason
    }
  }

  /// The second column of a finding.
  var detail: String? {
    guard case .failed(let refusal) = self else { return nil }
    return refusal.detail
  }

  /// Makes a finding of its two columns.
  init(reason: String?, detail: String?) {
    switch reason {
    case nil: self = .unchecked
    case "": self = .passed
    case let reason?: self = .failed(FileRefusal(reason: reason, detail: detail ?? ""))
    }
  }
}
