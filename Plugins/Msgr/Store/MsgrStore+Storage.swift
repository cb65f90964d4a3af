internal import Budgets
internal import Formats
internal import Platform
internal import Storage

// What the accounts of each site have in inboxes, topics and files.

extension MsgrStore {
  /// The bytes that a message takes beside its text and its parts.
  static let messageOverhead = 256

  /// Looks up the site that made an account; nil if the operator did.
  fileprivate func site(of account: UserName) async throws -> String? {
    try await store.read(isOneQuery: true) { try site(of: account, $0) }
  }

  /// Looks up the site that made an account; nil if the operator did.
  func site(
    of account: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> String? {
    let site: String?? = try database.value(
      "SELECT site FROM msgr_users WHERE username = ?", account)
    return site ?? nil
  }

  /// Adds up the bytes that each site has stored. A message is charged to its sender, and the copy of a topic's message to the
  /// account that has subscribed.
  fileprivate func bytesBySite() async throws -> [String: Int] {
    let query = store.isShared ? Self.sizes.postgreSQL : Self.sizes.sqlite
    return try await store.read { snapshot in
      var bytes: [String: Int] = [:]
      try snapshot.forEach(query, Self.messageOverhead) { row in
        // What an operator's account has counts for no site.
        guard let site: String = try row[0] else { return }
        bytes[site, default: 0] &+= try row[1]
      }
      try snapshot.forEach(
        """
        SELECT coalesce(u.site, s.site), CAST(sum(s.bytes) AS BIGINT)
        FROM msgr_topic_files_sums s LEFT JOIN msgr_users u ON u.username = s.account
        GROUP BY coalesce(u.site, s.site)
        """
      ) { row in
        guard let site: String = try row[0] else { return }
        bytes[site, default: 0] &+= try row[1]
      }
      return bytes
    }
  }

  /// The bytes of texts by the site of who is charged. The engines call the length in bytes by other names.
  private static let sizes: (sqlite: StaticString, postgreSQL: StaticString) = (
    """
    SELECT u.site, CAST(sum(m.bytes) AS BIGINT) FROM (
      SELECT sender, sum(length(CAST(text AS BLOB)) + coalesce(length(CAST(parts AS BLOB)), 0) + ?1) AS bytes
      FROM msgr_messages WHERE topic IS NULL GROUP BY sender
      UNION ALL
      SELECT recipient, sum(length(CAST(text AS BLOB)) + coalesce(length(CAST(parts AS BLOB)), 0) + ?1)
      FROM msgr_messages WHERE topic IS NOT NULL GROUP BY recipient
      UNION ALL
      SELECT sender, sum(length(CAST(text AS BLOB)) + ?1) FROM msgr_sent GROUP BY sender
    ) m JOIN msgr_users u ON u.username = coalesce(
      -- The owner is what stands before the last slash, if there is one.
      nullif(rtrim(rtrim(m.sender, replace(m.sender, '/', '')), '/'), ''), m.sender)
    WHERE u.site IS NOT NULL GROUP BY u.site
    UNION ALL
    SELECT coalesce(u.site, t.site), CAST(sum(
      length(CAST(e.text AS BLOB)) + coalesce(length(CAST(e.parts AS BLOB)), 0) + ?1) AS BIGINT)
    FROM msgr_topic_entries e JOIN msgr_topics t ON t.topic = e.topic
      LEFT JOIN msgr_users u ON u.username = t.owner
    GROUP BY coalesce(u.site, t.site)
    """,
    """
    SELECT u.site, CAST(sum(m.bytes) AS BIGINT) FROM (
      SELECT sender, sum(octet_length(text) + coalesce(octet_length(parts), 0) + ?1) AS bytes
      FROM msgr_messages WHERE topic IS NULL GROUP BY sender
      UNION ALL
      SELECT recipient, sum(octet_length(text) + coalesce(octet_length(parts), 0) + ?1)
      FROM msgr_messages WHERE topic IS NOT NULL GROUP BY recipient
      UNION ALL
      SELECT sender, sum(octet_length(text) + ?1) FROM msgr_sent GROUP BY sender
    ) m JOIN msgr_users u ON u.username = coalesce(
      -- The owner is what stands before the last slash, if there is one.
      nullif(rtrim(rtrim(m.sender, replace(m.sender, '/', '')), '/'), ''), m.sender)
    WHERE u.site IS NOT NULL GROUP BY u.site
    UNION ALL
    SELECT coalesce(u.site, t.site), CAST(sum(
      octet_length(e.text) + coalesce(octet_length(e.parts), 0) + ?1) AS BIGINT)
    FROM msgr_topic_entries e JOIN msgr_topics t ON t.topic = e.topic
      LEFT JOIN msgr_users u ON u.username = t.owner
    GROUP BY coalesce(u.site, t.site)
    """
  )
}

/// What accounts have stored, charged to the sites that made them, and what those without an account have, to their own.
final class MessageStorage: Sendable {
  /// The site of an account.
  private enum Site: Sendable {
    case named(String)
    /// The operator made the account.
    case none
  }

  private let store: MsgrStore
  private let storage: SiteStorage<String>
  private let sites = RecentValues<UserName, Site>(limit: 32_768)

  /// - Parameter limit: the most bytes of a site.
  init(_ store: MsgrStore, limit: Int) {
    self.store = store
    storage = SiteStorage(limit: limit) { try await store.bytesBySite() }
  }

  /// Counts bytes that an account wants to store, if its site may have them. What the operator has made has no limit.
  func mayStore(_ bytes: Int, by account: UserName) async throws -> Bool {
    guard case .named(let site) = try await site(of: account) else { return true }
    return try await storage.mayStore(bytes, of: site)
  }

  /// Counts bytes that somebody without an account wants to store.
  func mayStore(_ bytes: Int, from network: ClientNetwork?) async throws -> Bool {
    guard let network else { return true }
    return try await storage.mayStore(bytes, of: network.site)
  }

  /// Returns whether a site's accounts may have more bytes, by the sums as they are, and counts nothing. What the operator has
  /// made has no limit.
  func hasRoom(for bytes: Int, of site: String?) -> Bool {
    guard let site else { return true }
    return storage.hasRoom(for: bytes, of: site)
  }

  /// Counts bytes by site that accounts got in transactions that are committed.
  func record(_ bytes: [String: Int]) {
    for (site, bytes) in bytes { storage.record(bytes, of: site) }
  }

  private func site(of account: UserName) async throws -> Site {
    if let site = sites.value(for: account) { return site }
    let site = try await store.site(of: account).map(Site.named) ?? .none
    sites.insert(site, for: account)
    return site
  }
}
