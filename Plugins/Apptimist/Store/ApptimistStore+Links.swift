internal import Platform
internal import Storage

/// The place of what one of two devices leaves for the other: part 1 or 2 of a slot.
struct LinkPlace: Sendable {
  let slot: String
  let part: Int
}

/// The reason for which a part of a link isn't kept.
enum LinkRefusal: Error {
  /// The part was put before.
  case taken
  /// The network has too many slots.
  case tooMany
}

// The slots by which a new device gets its account from an old one.
extension ApptimistStore {
  /// The most slots that are taken at once.
  private static let slots = 1_000
  private static let slotLife = Duration.seconds(600)

  /// Keeps a part for ten minutes. Where all slots are taken, the network that has most of the site that has most loses its
  /// oldest one.
  ///
  /// - Throws: ``LinkRefusal``.
  func keep(
    _ content: [UInt8], at place: LinkPlace, from network: String, of site: String,
    at now: Timestamp
  ) async throws {
    let end = now + Self.slotLife
    try await store.write { transaction in
      try transaction.execute("DELETE FROM apptimist_links WHERE expires <= ?", now.milliseconds)
      let parts: [Int] = try transaction.values(
        "SELECT part FROM apptimist_links WHERE slot = ?", place.slot)
      guard !parts.contains(place.part) else { throw LinkRefusal.taken }
      if parts.isEmpty { try requireSlot(for: network, transaction) }
      try transaction.execute(
        """
        INSERT INTO apptimist_links (slot, part, network, site, expires, content)
        VALUES (?, ?, ?, ?, ?, ?)
        """, place.slot, place.part, network, site, end.milliseconds, content)
      if parts.isEmpty { try removeExcessSlot(transaction) }
    }
  }

  private func requireSlot(for network: String, _ transaction: borrowing Transaction) throws {
    let count: Int? = try transaction.value(
      "SELECT count(DISTINCT slot) FROM apptimist_links WHERE network = ?", network)
    guard count ?? 0 < limits.linksPerAddress else { throw LinkRefusal.tooMany }
  }

  private func removeExcessSlot(_ transaction: borrowing Transaction) throws {
    let taken: Int? = try transaction.value("SELECT count(DISTINCT slot) FROM apptimist_links")
    guard taken ?? 0 > Self.slots else { return }
    let largest = try transaction.one(
      """
      SELECT site, network FROM apptimist_links WHERE site = (
        SELECT site FROM apptimist_links GROUP BY site ORDER BY count(*) DESC, min(expires) LIMIT 1)
      GROUP BY site, network ORDER BY count(*) DESC, min(expires) LIMIT 1
      """
    ) { (site: try $0[0] as String, network: try $0[1] as String) }
    guard let largest else { return }
    try transaction.execute(
      """
      DELETE FROM apptimist_links WHERE slot = (
        SELECT slot FROM apptimist_links WHERE site = ? AND network = ? ORDER BY expires LIMIT 1)
      """, largest.site, largest.network)
  }

  /// Takes a part out, which only the first reader gets.
  ///
  /// - Returns: nil if there is none.
  func consumeLink(at place: LinkPlace, at now: Timestamp) async throws -> [UInt8]? {
    let content: [UInt8]? = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value(
        """
        SELECT content FROM apptimist_links
        WHERE slot = ? AND part = ? AND content IS NOT NULL AND expires > ?
        """, place.slot, place.part, now.milliseconds)
    }
    guard let content else { return nil }
    return try await store.write { transaction in
      try transaction.execute(
        """
        UPDATE apptimist_links SET content = NULL
        WHERE slot = ? AND part = ? AND content IS NOT NULL
        """, place.slot, place.part)
      return transaction.changes == 1 ? content : nil
    }
  }
}
