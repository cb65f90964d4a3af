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
  /// The most slots that are taken at once, and those of one network.
  private static let slots = 1_000
  private static let slotsOfNetwork = 20
  private static let slotLife = Duration.seconds(600)

  /// Keeps a part for ten minutes. Where all slots are taken, whichever site has most loses its oldest one.
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
      if parts.isEmpty {
        let count: Int? = try transaction.value(
          "SELECT count(DISTINCT slot) FROM apptimist_links WHERE network = ?", network)
        guard count ?? 0 < Self.slotsOfNetwork else { throw LinkRefusal.tooMany }
      }
      try transaction.execute(
        """
        INSERT INTO apptimist_links (slot, part, network, site, expires, content)
        VALUES (?, ?, ?, ?, ?, ?)
        """, place.slot, place.part, network, site, end.milliseconds, content)
      let taken: Int? = try transaction.one("SELECT count(DISTINCT slot) FROM apptimist_links") {
        try $0[0]
      }
      guard taken ?? 0 > Self.slots else { return }
      try transaction.execute(
        """
        DELETE FROM apptimist_links WHERE slot = (
          SELECT slot FROM apptimist_links WHERE site = (
            SELECT site FROM apptimist_links GROUP BY site
            ORDER BY count(*) DESC, min(expires) LIMIT 1)
          ORDER BY expires LIMIT 1)
        """)
    }
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
