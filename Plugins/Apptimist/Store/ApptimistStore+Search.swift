internal import ApptimistProtocol
internal import Cryptography
internal import Formats
internal import Storage

extension ApptimistStore {
  /// The cost that one search by a pattern may have, in compared bytes: about a hundredth of a second.
  private static let searchSteps = 4_000_000
  /// The cost of looking at a name before any byte is compared.
  private static let nameSteps = 64
  /// The number of names that are read at once. As many names that start alike are listed by the age of their accounts; more
  /// are listed in their own order, so that no search has to read them all.
  private static let namePage = 4096

  /// Finds the accounts with a name, then those whose name starts with it.
  func named(
    _ name: [UInt8], _ limit: Int, behind place: SearchPlace?,
    _ snapshot: borrowing Snapshot
  ) throws -> [SearchPlace] {
    var whole: [SearchPlace] = []
    if place == nil || place?.group == .whole {
      whole = try snapshot.all(
        "SELECT id FROM apptimist_users WHERE search_name = ? AND id > ? ORDER BY id LIMIT ?", name,
        place?.number ?? AccountNumber(rawValue: 0), limit
      ) { SearchPlace(number: try $0[0], group: .whole) }
    }
    guard whole.count < limit else { return whole }
    let count = limit - whole.count
    return try whole + longer(than: name, count, behind: place, snapshot)
  }

  /// Finds the accounts whose name is longer than a name and starts with it.
  ///
  /// - Parameter place: the place behind which to go on; nil, or one in the first group, from the beginning.
  private func longer(
    than name: [UInt8], _ limit: Int, behind place: SearchPlace?,
    _ snapshot: borrowing Snapshot
  ) throws -> [SearchPlace] {
    // No UTF-8 has the byte 0xFF.
    let end = name + [0xFF]
    if place?.group != .byName {
      let all: [AccountNumber] = try snapshot.values(
        """
        SELECT id FROM apptimist_users WHERE search_name > ? AND search_name < ?
        ORDER BY search_name, id LIMIT ?
        """, name, end, Self.namePage + 1)
      if all.count <= Self.namePage || place?.group == .byAge {
        let last = place?.group == .byAge ? place?.number : nil
        let rest = all.prefix(Self.namePage).filter { number in last.map { number > $0 } ?? true }
        return rest.sorted().prefix(limit).map { SearchPlace(number: $0, group: .byAge) }
      }
    }
    var lastName = name
    var lastNumber = AccountNumber(rawValue: .max)
    if let place, place.group == .byName {
      let last: [UInt8]?? = try snapshot.value(
        "SELECT search_name FROM apptimist_users WHERE id = ?", place.number)
      // An account that is gone by now has no place in the list.
      guard let last, let last else { return [] }
      lastName = last
      lastNumber = place.number
    }
    let found: [AccountNumber] = try snapshot.values(
      """
      SELECT id FROM apptimist_users
      WHERE search_name >= ?1 AND search_name < ?2 AND (search_name > ?1 OR id > ?3)
      ORDER BY search_name, id LIMIT ?4
      """, lastName, end, lastNumber, limit)
    return found.map { SearchPlace(number: $0, group: .byName) }
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
    func compare(_ row: borrowing Row) throws {
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
          """, number, Self.namePage, body: compare)
      } else {
        try snapshot.forEach(
          """
          SELECT id, search_name FROM apptimist_users
          WHERE search_name >= ?1 AND search_name < ?2 AND (search_name > ?1 OR id > ?3)
          ORDER BY search_name, id LIMIT ?4
          """, name, pattern.prefix + [0xFF], number, Self.namePage
        ) { row in
          try compare(row)
          if names == Self.namePage { name = try row[1] }
        }
      }
    } while steps > 0 && names == Self.namePage
      && (numbers.count < limit || !pattern.prefix.isEmpty)
    return Array(numbers.sorted().prefix(limit))
  }
}

/// The pattern of a search by name: a text, or a glob over the whole name, in which `*` stands for any
/// number of scalars and `?` for one (page "Users and vouchers").
struct NamePattern: Sendable {
  private static let star = UInt8(ascii: "*")
  private static let questionMark = UInt8(ascii: "?")

  /// The pattern in UTF-8, normalized and folded as names are.
  let bytes: [UInt8]
  /// True if it is a glob.
  let isGlob: Bool
  /// The bytes with which all names start that it matches.
  let prefix: [UInt8]

  init(_ text: SearchText) {
    bytes = text.bytes
    prefix = Array(bytes.prefix { $0 != Self.star && $0 != Self.questionMark })
    isGlob = prefix.count < bytes.count
  }

  /// Returns whether a glob matches a whole name.
  ///
  /// Only the last one of several stars is ever tried again: a later part of the pattern that can be
  /// found at all can also be found behind the first match of the part before it.
  ///
  /// - Parameters:
  ///   - name: valid UTF-8, normalized and folded.
  ///   - steps: the number of bytes that may be compared; loses those that were. When it comes to 0,
  ///     the result is false.
  func matches(_ name: Span<UInt8>, steps: inout Int) -> Bool {
    var place = 0
    var next = 0
    var retry: (place: Int, next: Int)?
    while place < name.count {
      steps -= 1
      guard steps > 0 else { return false }
      if next < bytes.count, bytes[next] == Self.star {
        next += 1
        retry = (place, next)
      } else if next < bytes.count, bytes[next] == Self.questionMark {
        place += Self.scalarLength(name[place])
        next += 1
      } else if next < bytes.count, bytes[next] == name[place] {
        place += 1
        next += 1
      } else if let last = retry {
        place = last.place + Self.scalarLength(name[last.place])
        next = last.next
        retry = (place, next)
      } else {
        return false
      }
    }
    return bytes[next...].allSatisfy { $0 == Self.star }
  }

  /// The length of a scalar, in bytes, by its first byte.
  private static func scalarLength(_ first: UInt8) -> Int {
    first < 0x80 ? 1 : max(1, (~first).leadingZeroBitCount)
  }
}

/// The form in which names are searched for: in NFC, its case folded (page "Users and vouchers").
struct SearchText: Sendable {
  /// The text in UTF-8.
  let bytes: [UInt8]

  /// Makes the form of a text.
  ///
  /// - Returns: nil if the text is longer than names can be, or ICU has no data.
  init?(_ text: String) {
    guard let folded = UnicodeText.caseFolded(text) else { return nil }
    bytes = Array(folded.utf8)
  }
}

/// The place of an account in the results of a search.
struct SearchPlace: Hashable, Sendable {
  /// The groups of results, which follow each other.
  enum Group: Int64, Sendable {
    /// Accounts whose whole name was searched for, or that a pattern or another search matches, the oldest first.
    case whole = 0
    /// Accounts whose name only starts with the searched text, the oldest first.
    case byAge = 1
    /// The same by name and age, where they are many.
    case byName = 2
  }

  let number: AccountNumber
  let group: Group
}

// Lists, and parts of them.
extension ApptimistStore {
  /// Finds the account with a key.
  func account(
    _ key: EncryptionPublicKey
  ) async throws -> (user: Version2.User, place: SearchPlace)? {
    try await store.read { snapshot in
      let number: AccountNumber? = try snapshot.value(
        "SELECT id FROM apptimist_users WHERE key = ? AND kind < ?", key, StoredKind.deleted)
      return try number.flatMap { try account(SearchPlace(number: $0, group: .whole), snapshot) }
    }
  }

  /// Finds users by their identity provider's name for them, oldest first.
  func accounts(
    uid: String, behind place: SearchPlace?, max: Int
  ) async throws -> [(user: Version2.User, place: SearchPlace)] {
    guard !uid.isEmpty else { return [] }
    return try await store.read { snapshot in
      let numbers: [AccountNumber] = try snapshot.values(
        "SELECT id FROM apptimist_users WHERE uid = ? AND id > ? ORDER BY id LIMIT ?",
        StoredUID(uid), place?.number ?? AccountNumber(rawValue: 0), max)
      return try numbers.compactMap {
        try account(SearchPlace(number: $0, group: .whole), snapshot)
      }
    }
  }

  /// Finds users and forums by name: those with the whole name, then those whose name starts so; with a glob, those that it
  /// matches. The oldest come first within each.
  ///
  /// - Parameters:
  ///   - name: the name or glob; an empty one matches nothing.
  ///   - place: the place behind which to go on, or nil from the beginning.
  /// - Returns: no more than is found among some sixty thousand names that start like the pattern.
  func accounts(
    name: String, behind place: SearchPlace?, max: Int
  ) async throws -> [(user: Version2.User, place: SearchPlace)] {
    guard let text = SearchText(name), !text.bytes.isEmpty else { return [] }
    let pattern = NamePattern(text)
    return try await store.read { snapshot in
      let places: [SearchPlace]
      if pattern.isGlob {
        let last = place?.number ?? AccountNumber(rawValue: 0)
        places = try matching(pattern, max, behind: last, snapshot).map {
          SearchPlace(number: $0, group: .whole)
        }
      } else {
        places = try named(pattern.bytes, max, behind: place, snapshot)
      }
      return try places.compactMap { try account($0, snapshot) }
    }
  }

  private func account(
    _ place: SearchPlace, _ snapshot: borrowing Snapshot
  ) throws -> (user: Version2.User, place: SearchPlace)? {
    let user = try snapshot.one(
      """
      SELECT key, authentication_key, kind, is_closed, name, uid,
        EXISTS (SELECT 1 FROM apptimist_secrets WHERE forum = id), uid_proof <> 0
      FROM apptimist_users WHERE id = ?
      """, place.number
    ) { row in
      var flags: Version2.Flags = []
      if try row[3] as Bool { flags.insert(.closed) }
      if try row[6] as Bool { flags.insert(.escrowed) }
      if try row[7] as Bool { flags.insert(.signed) }
      // Both were fields of one byte's length when they came.
      return Version2.User(
        key: try row[0], authenticationKey: try row[1],
        kind: try row[2] as StoredKind == .user ? .user : .forum, flags: flags,
        name: ShortBytes(try row[4] as String) ?? .empty,
        uid: (try row[5] as StoredUID?).flatMap { ShortBytes($0.text) } ?? .empty)
    }
    return user.map { ($0, place) }
  }

  /// Lists a part of the users who vouch for an account, the oldest first.
  ///
  /// - Parameter place: the place behind which to go on; 0 from the beginning.
  /// - Returns: them with their places, or nil if there is no such account.
  func vouchers(
    of subject: EncryptionPublicKey, behind place: Int64, max: Int
  ) async throws -> [(voucher: Version2.Voucher, place: Int64)]? {
    try await store.read { snapshot in
      guard let subject = try directory(subject, snapshot)?.number else { return nil }
      return try snapshot.all(
        """
        SELECT v.id, u.key, u.authentication_key, v.signature
        FROM apptimist_vouchers v JOIN apptimist_users u ON u.id = v.voucher
        WHERE v.subject = ? AND v.id > ? ORDER BY v.id LIMIT ?
        """, subject, place, max
      ) { row in
        let signature: Signature? = try row[3]
        let voucher = Version2.Voucher(
          voucher: try row[1], authenticationKey: try row[2], signature: signature ?? Signature())
        return (voucher, try row[0])
      }
    }
  }

  /// Returns whether there is an account.
  func exists(_ key: EncryptionPublicKey) async throws -> Bool {
    try await store.read { try directory(key, $0) != nil }
  }
}
