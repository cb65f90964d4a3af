internal import ApptimistProtocol
internal import Cryptography
internal import Storage

/// The place of an account in the results of a search.
struct SearchPlace: Hashable, Sendable {
  let number: AccountNumber
  /// True if the account's name only starts with the searched text: such accounts follow those with the whole name.
  let isPrefix: Bool
}

// Lists, and parts of them.
extension ApptimistStore {
  /// Finds the account with a key.
  func account(
    _ key: EncryptionPublicKey
  ) async throws -> (user: Version2.User, place: SearchPlace)? {
    try await store.read { snapshot in
      let number: AccountNumber? = try snapshot.value(
        "SELECT id FROM apptimist_users WHERE key = ? AND kind <> ?", key, StoredKind.deleted)
      return try number.flatMap { try account(SearchPlace(number: $0, isPrefix: false), snapshot) }
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
        try account(SearchPlace(number: $0, isPrefix: false), snapshot)
      }
    }
  }

  /// Finds users and forums by name: those with the whole name, then those whose name starts so; with a glob, those that it
  /// matches. The oldest come first within each.
  ///
  /// - Parameters:
  ///   - name: the name or glob; an empty one matches nothing.
  ///   - place: the place behind which to go on, or nil from the beginning.
  ///   - max: the most accounts.
  /// - Returns: no more than is found among half a million names that start like the pattern.
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
          SearchPlace(number: $0, isPrefix: false)
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
  /// - Parameters:
  ///   - subject: the account.
  ///   - place: the place behind which to go on; 0 from the beginning.
  ///   - max: the most users.
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
