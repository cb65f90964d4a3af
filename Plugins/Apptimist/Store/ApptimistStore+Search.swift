internal import ApptimistSession
internal import Cryptography
internal import Storage

extension ApptimistStore {
  /// The cost that one search by name may have, in compared bytes: some hundredths of a second.
  private static let searchSteps = 32_000_000
  /// The cost of looking at a name before any byte is compared.
  private static let nameSteps = 64

  /// Finds users and forums by name: those with the whole name, then those whose name starts so;
  /// with a glob, those that it matches. The oldest come first within each.
  ///
  /// - Parameters:
  ///   - name: the name or glob; an empty one matches nothing.
  ///   - max: the number of accounts that are wanted, or 0 for as many as the limits allow.
  /// - Returns: no more than is found among half a million names that start like the pattern.
  func search(name: String, max: Int) async throws -> [FoundAccount] {
    guard let text = SearchText(name), !text.bytes.isEmpty else { return [] }
    let pattern = NamePattern(text)
    let limit = self.limit(max)
    return try await store.read { snapshot in
      let numbers =
        try pattern.isGlob
        ? matching(pattern, limit, snapshot)
        : named(pattern.bytes, limit, snapshot).map(\.number)
      return try numbers.compactMap { number in
        try snapshot.one("SELECT key, name, uid FROM apptimist_users WHERE id = ?", number) { row in
          try Self.found(row)
        }
      }
    }
  }

  /// Finds users by their identity provider's name for them, oldest first.
  ///
  /// - Parameters:
  ///   - uid: the exact name; an empty one matches nothing.
  ///   - max: the number of users that are wanted, or 0 for as many as the limits allow.
  func search(uid: String, max: Int) async throws -> [FoundAccount] {
    guard !uid.isEmpty else { return [] }
    return try await store.read { snapshot in
      try snapshot.all(
        "SELECT key, name, uid FROM apptimist_users WHERE uid = ? ORDER BY id LIMIT ?",
        StoredUID(uid), limit(max)
      ) { try Self.found($0) }
    }
  }

  /// Finds the user or forum with a key.
  func search(key: EncryptionPublicKey) async throws -> FoundAccount? {
    try await store.read { snapshot in
      try snapshot.one(
        "SELECT key, name, uid FROM apptimist_users WHERE key = ? AND kind <> ?", key,
        StoredKind.deletedForum
      ) { try Self.found($0) }
    }
  }

  private func limit(_ max: Int) -> Int {
    max > 0 ? min(max, limits.found) : limits.found
  }

  private static func found(_ row: borrowing Row) throws -> FoundAccount {
    let uid: StoredUID? = try row[2]
    return FoundAccount(key: try row[0], name: try row[1], uid: uid?.text ?? "")
  }
}

// MARK: - By name

extension ApptimistStore {
  /// The number of names that are read at once.
  private static let namePage = 4096

  /// Finds the accounts with a name, then those whose name starts with it.
  func named(
    _ name: [UInt8], _ limit: Int, behind place: SearchPlace? = nil,
    _ snapshot: borrowing Snapshot
  ) throws -> [SearchPlace] {
    var whole: [SearchPlace] = []
    if place?.isPrefix != true {
      whole = try snapshot.all(
        "SELECT id FROM apptimist_users WHERE search_name = ? AND id > ? ORDER BY id LIMIT ?", name,
        place?.number ?? AccountNumber(rawValue: 0), limit
      ) { SearchPlace(number: try $0[0], isPrefix: false) }
    }
    guard whole.count < limit else { return whole }
    let last = place.flatMap { $0.isPrefix ? $0.number : nil }
    // No UTF-8 has the byte 0xFF.
    let others: [AccountNumber] = try snapshot.all(
      "SELECT id FROM apptimist_users WHERE search_name > ? AND search_name < ? LIMIT ?", name,
      name + [0xFF], Self.searchSteps / Self.nameSteps
    ) { try $0[0] }
    let rest = others.filter { number in last.map { number > $0 } ?? true }.sorted()
    return whole
      + rest.prefix(limit - whole.count).map { SearchPlace(number: $0, isPrefix: true) }
  }

  /// Finds the accounts whose name matches a glob.
  func matching(
    _ pattern: NamePattern, _ limit: Int, behind last: AccountNumber = AccountNumber(rawValue: 0),
    _ snapshot: borrowing Snapshot
  ) throws -> [AccountNumber] {
    var numbers: [AccountNumber] = []
    var steps = Self.searchSteps
    // The place in the table by age, or in the index by name.
    var number = pattern.prefix.isEmpty ? last : AccountNumber(rawValue: 0)
    var name = pattern.prefix
    var names = 0
    func take(_ row: borrowing Row) throws {
      names += 1
      number = try row[0]
      guard steps > 0 else { return }
      steps -= Self.nameSteps
      let isFound = try row.withBytes(1) { pattern.matches($0, steps: &steps) }
      if isFound, number > last { numbers.append(number) }
    }
    repeat {
      names = 0
      if pattern.prefix.isEmpty {
        // By age and not by the index: where many match, the first of them are enough.
        try snapshot.forEach(
          """
          SELECT id, search_name FROM apptimist_users
          WHERE id > ? AND search_name IS NOT NULL ORDER BY id LIMIT ?
          """, number, Self.namePage, body: take)
      } else {
        try snapshot.forEach(
          """
          SELECT id, search_name FROM apptimist_users
          WHERE search_name >= ?1 AND search_name < ?2 AND (search_name > ?1 OR id > ?3)
          ORDER BY search_name, id LIMIT ?4
          """, name, pattern.prefix + [0xFF], number, Self.namePage
        ) { row in
          try take(row)
          if names == Self.namePage { name = try row[1] }
        }
      }
    } while steps > 0 && names == Self.namePage
      && (numbers.count < limit || !pattern.prefix.isEmpty)
    return Array(numbers.sorted().prefix(limit))
  }
}
