/// What the accounts of one site, or one of them, have in an inbox.
struct InboxShare: Sendable, Equatable {
  let owner: String
  /// The site that made the account.
  let site: String
  /// True if the inbox's user has added or written to the owner, or has subscribed to it if it is a topic.
  let isKnown: Bool
  let messages: Int
  /// The oldest of the messages.
  let oldest: MsgrMessageID
}

/// Decides which message goes first when an inbox is full.
///
/// Strangers' messages go before those of people whom the user knows. Strangers share by site, so that any number of free
/// accounts counts as one: the site that has most loses the oldest message of its account that has most. Among people whom the
/// user knows, whoever has most loses the oldest. No stranger's message pushes out a known person's.
enum InboxEviction {
  /// - Parameters:
  ///   - shares: what each account has in the inbox.
  ///   - isKnown: whether the user knows the sender of the message that needs room.
  /// - Returns: nil if none may go.
  static func leastWanted(_ shares: [InboxShare], forKnown isKnown: Bool) -> MsgrMessageID? {
    let strangers = shares.filter { !$0.isKnown }
    guard !strangers.isEmpty else { return isKnown ? largest(shares)?.oldest : nil }
    let sites = Dictionary(grouping: strangers, by: \.site).map { site, shares in
      InboxShare(
        owner: "", site: site, isKnown: false, messages: shares.reduce(0) { $0 + $1.messages },
        oldest: shares.map(\.oldest).min() ?? .zero)
    }
    guard let site = largest(sites)?.site else { return nil }
    return largest(strangers.filter { $0.site == site })?.oldest
  }

  /// Returns the share with most messages; of several, the one with the oldest.
  private static func largest(_ shares: [InboxShare]) -> InboxShare? {
    shares.min { left, right in
      left.messages == right.messages
        ? left.oldest < right.oldest : left.messages > right.messages
    }
  }
}
