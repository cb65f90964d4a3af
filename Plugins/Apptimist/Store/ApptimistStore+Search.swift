internal import Storage

extension ApptimistStore {
  /// The cost that one search by name may have, in compared bytes: some hundredths of a second.
  private static let searchSteps = 32_000_000
  /// The cost of looking at a name before any byte is compared.
  private static let nameSteps = 64
  /// The number of names that are read at once.
  private static let namePage = 4096

  /// Finds the accounts with a name, then those whose name starts with it.
  func named(
    _ name: [UInt8], _ limit: Int, behind place: SearchPlace?,
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
    let others: [AccountNumber] = try snapshot.values(
      "SELECT id FROM apptimist_users WHERE search_name > ? AND search_name < ? LIMIT ?", name,
      name + [0xFF], Self.searchSteps / Self.nameSteps)
    let rest = others.filter { number in last.map { number > $0 } ?? true }.sorted()
    return whole
      + rest.prefix(limit - whole.count).map { SearchPlace(number: $0, isPrefix: true) }
  }

  /// Finds the accounts whose name matches a glob.
  func matching(
    _ pattern: NamePattern, _ limit: Int, behind last: AccountNumber,
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
