internal import Cryptography
internal import Storage

/// All SQL of the repository: what was found out about files, and when bytes were first seen.
struct ContractStore: Sendable {
  /// A file's bytes at a path.
  struct Key: Hashable, Sendable {
    /// Where the file lies.
    let path: RepositoryPath
    /// The SHA-256 of its bytes.
    let digest: [UInt8]
  }

  /// What is remembered of one file.
  typealias Reading = Result<TokenScriptFile, Refusal>

  /// Everything that is remembered.
  struct Memory: Sendable {
    /// What was found out by the present rules.
    var readings: [Key: Reading] = [:]
    /// What is there to be forgotten: found out by other rules.
    var outdated: Set<Key> = []
    /// When bytes were first seen for a contract, in seconds since 1970.
    var sightings: [IndexBuilder.Sighting: Int64] = [:]
    /// Since when the answers at URLs have been answers, if that was asked for.
    var answers: [Publications.URL: Publications.Answer] = [:]
  }

  /// The tables. A path is text, or a blob where its bytes are not UTF-8. Of the three findings,
  /// NULL is "not checked", an empty text "passed".
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
  ]

  /// How many files one transaction writes, so that other services' writes get between.
  private static let batch = 500

  private let store: Store

  /// The repository's part of a store.
  ///
  /// - Parameter store: with the tables of ``migrations``.
  init(_ store: Store) { self.store = store }

  /// Reads all that is remembered.
  ///
  /// - Parameters:
  ///   - rules: the fingerprint of all that a reading depends on besides the bytes.
  ///   - withAnswers: whether the answers at URLs are read too.
  /// - Returns: readings of other rules are only named.
  /// - Throws: ``StoreError``.
  func memory(under rules: String, withAnswers: Bool = false) async throws -> Memory {
    try await store.read { snapshot in
      var contracts: [Key: [TokenScriptFile.Contract]] = [:]
      try snapshot.forEach(
        """
        SELECT path, sha256, contract, name, network, origin FROM tokenscript_contracts
        ORDER BY path, sha256, place
        """
      ) { row in
        let key = try Key(path: row[0], digest: row[1])
        let network: String? = try row[4]
        contracts[key, default: []].append(
          TokenScriptFile.Contract(
            address: (try row[2] as StoredAddress).address, name: try row[3],
            network: network.flatMap { UInt64($0) },
            isOrigin: try row[5]))
      }
      var memory = Memory()
      try snapshot.forEach(
        """
        SELECT path, sha256, rules, refusal, refusal_detail, malformed, schema, root, signer, key,
          kind, signed, signature, signature_detail, validity, validity_detail, trust,
          trust_detail, warnings, expires
        FROM tokenscript_files
        """
      ) { row in
        let key = try Key(path: row[0], digest: row[1])
        guard try row[2] == rules else {
          memory.outdated.insert(key)
          return
        }
        memory.readings[key] = try Self.reading(row, contracts[key] ?? [])
      }
      try snapshot.forEach(
        "SELECT schema, contract, sha256, first_seen FROM tokenscript_sightings"
      ) { row in
        let sighting = try IndexBuilder.Sighting(
          schema: row[0], contract: (row[1] as StoredAddress).address, digest: row[2])
        memory.sightings[sighting] = try row[3]
      }
      guard withAnswers else { return memory }
      try snapshot.forEach(
        "SELECT contract, schema, bare, signer, fingerprint, since FROM tokenscript_answers"
      ) { row in
        let url = Publications.URL(
          contract: (try row[0] as StoredAddress).address, schema: try row[1],
          isBare: try row[2], signer: try row[3])
        memory.answers[url] = Publications.Answer(fingerprint: try row[4], since: try row[5])
      }
      return memory
    }
  }

  /// Remembers new readings and sightings, and forgets readings of files that are no more.
  ///
  /// - Parameters:
  ///   - readings: what was found out.
  ///   - rules: the fingerprint of all that it depends on besides the bytes.
  ///   - sightings: when bytes were first seen.
  ///   - forgotten: which readings to drop; done before the others are added.
  /// - Throws: ``StoreError``; part of it may be remembered then, all of which is true.
  func remember(
    _ readings: [(key: Key, reading: Reading)], under rules: String,
    sightings: [IndexBuilder.Sighting: Int64], forgetting forgotten: [Key]
  ) async throws {
    for keys in forgotten.batches(of: Self.batch) {
      try await store.write { transaction in
        for key in keys {
          try transaction.execute(
            "DELETE FROM tokenscript_files WHERE path = ? AND sha256 = ?", key.path, key.digest)
        }
      }
    }
    for sightings in Array(sightings).batches(of: Self.batch) {
      try await store.write { transaction in
        for (sighting, time) in sightings {
          try transaction.execute(
            "INSERT OR IGNORE INTO tokenscript_sightings VALUES (?, ?, ?, ?)",
            sighting.schema, sighting.contract.bytes, sighting.digest, time)
        }
      }
    }
    for readings in readings.batches(of: Self.batch) {
      try await store.write { transaction in
        for (key, reading) in readings { try Self.insert(key, reading, rules, transaction) }
      }
    }
  }

  /// Remembers since when answers have been answers.
  ///
  /// - Parameter publications: what has begun and ended.
  /// - Throws: ``StoreError``; part of it may be remembered then, all of which is true.
  func remember(_ publications: Publications) async throws {
    for urls in publications.ended.batches(of: Self.batch) {
      try await store.write { transaction in
        for url in urls {
          try transaction.execute(
            """
            DELETE FROM tokenscript_answers
            WHERE contract = ? AND schema = ? AND bare = ? AND signer = ?
            """, url.contract.bytes, url.schema, url.isBare, url.signer)
        }
      }
    }
    for answers in Array(publications.begun).batches(of: Self.batch) {
      try await store.write { transaction in
        for (url, answer) in answers {
          try transaction.execute(
            "INSERT OR REPLACE INTO tokenscript_answers VALUES (?, ?, ?, ?, ?, ?)",
            url.contract.bytes, url.schema, url.isBare, url.signer, answer.fingerprint,
            answer.since)
        }
      }
    }
  }

  private static func insert(
    _ key: Key, _ reading: Reading, _ rules: String, _ transaction: borrowing Transaction
  ) throws {
    switch reading {
    case .failure(let refusal):
      try transaction.execute(
        """
        INSERT OR REPLACE INTO tokenscript_files (path, sha256, rules, refusal, refusal_detail, malformed)
        VALUES (?, ?, ?, ?, ?, ?)
        """, key.path, key.digest, rules, refusal.reason, refusal.detail, refusal.isMalformed)
    case .success(let file):
      try transaction.execute(
        """
        INSERT OR REPLACE INTO tokenscript_files (path, sha256, rules, schema, root, signer, key, kind,
          signed, signature, signature_detail, validity, validity_detail, trust, trust_detail,
          warnings, expires)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """, key.path, key.digest, rules, file.schema, file.root, file.signer?.commonName,
        file.signer?.key, file.signer?.kind, file.signer?.time, file.signature.reason,
        file.signature.detail, file.validity.reason, file.validity.detail, file.trust.reason,
        file.trust.detail, file.warnings.joined(separator: "\n"),
        file.signer?.expires)
      for (place, contract) in file.contracts.enumerated() {
        try transaction.execute(
          "INSERT INTO tokenscript_contracts VALUES (?, ?, ?, ?, ?, ?, ?)", key.path, key.digest,
          place, contract.address.bytes, contract.name, contract.network.map { "\($0)" },
          contract.isOrigin)
      }
    }
  }

  private static func reading(
    _ row: borrowing Row, _ contracts: [TokenScriptFile.Contract]
  ) throws -> Reading {
    if let reason: String = try row[3] {
      return .failure(
        Refusal(reason: reason, detail: try row[4] ?? "", isMalformed: try row[5]))
    }
    var file = TokenScriptFile(schema: try row[6], root: try row[7], contracts: contracts)
    if let key: String = try row[9] {
      file.signer = TokenScriptFile.Signer(
        commonName: try row[8], key: key, kind: try row[10], time: try row[11], expires: try row[19]
      )
    }
    file.signature = TokenScriptFile.Finding(reason: try row[12], detail: try row[13])
    file.validity = TokenScriptFile.Finding(reason: try row[14], detail: try row[15])
    file.trust = TokenScriptFile.Finding(reason: try row[16], detail: try row[17])
    let warnings: String = try row[18]
    file.warnings = warnings.split(separator: "\n").map(String.init)
    return .success(file)
  }
}

extension TokenScriptFile.Finding {
  /// As stored: NULL, not checked; empty, passed.
  fileprivate var reason: String? {
    switch self {
    case .unchecked: nil
    case .passed: ""
    case .failed(let refusal): refusal.reason
    }
  }

  fileprivate var detail: String? {
    guard case .failed(let refusal) = self else { return nil }
    return refusal.detail
  }

  fileprivate init(reason: String?, detail: String?) {
    switch reason {
    case nil: self = .unchecked
    case "": self = .passed
    case let reason?: self = .failed(Refusal(reason: reason, detail: detail ?? ""))
    }
  }
}

extension SchemaVersion: DatabaseValueConvertible {
  var databaseValue: DatabaseValue { .text(path) }

  init?(databaseValue: DatabaseValue) {
    guard case .text(let text) = databaseValue else { return nil }
    self.init(text)
  }
}

/// An address as its 20 bytes.
private struct StoredAddress: DatabaseValueConvertible {
  let address: EthereumAddress

  var databaseValue: DatabaseValue { .blob(address.bytes) }

  init?(databaseValue: DatabaseValue) {
    guard case .blob(let bytes) = databaseValue, let address = EthereumAddress(bytes: bytes) else {
      return nil
    }
    self.address = address
  }
}

extension RepositoryPath: DatabaseValueConvertible {
  var databaseValue: DatabaseValue { isUTF8 ? .text(text) : .blob(bytes) }

  init?(databaseValue: DatabaseValue) {
    switch databaseValue {
    case .text(let text): self.init(text)
    case .blob(let bytes): self.init(bytes: bytes)
    default: return nil
    }
  }
}

extension Array {
  /// The elements in groups of at most so many.
  fileprivate func batches(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
