internal import Storage

/// The rights that somebody has on a topic.
enum TopicLevel: String, CaseIterable, Sendable, Codable {
  case deny
  case read
  case write
  case readWrite = "read-write"

  init(canRead: Bool, canWrite: Bool) {
    switch (canRead, canWrite) {
    case (false, false): self = .deny
    case (true, false): self = .read
    case (false, true): self = .write
    case (true, true): self = .readWrite
    }
  }

  var canRead: Bool { self == .read || self == .readWrite }
  var canWrite: Bool { self == .write || self == .readWrite }

  /// Returns whether it has a right.
  func allows(_ right: TopicRight) -> Bool {
    switch right {
    case .read: canRead
    case .write: canWrite
    }
  }
}

extension TopicLevel: DatabaseValueConvertible {
  var databaseValue: DatabaseValue {
    .integer((canRead ? 1 : 0) + (canWrite ? 2 : 0))
  }

  init?(databaseValue: DatabaseValue) {
    guard case .integer(let bits) = databaseValue, (0...3).contains(bits) else { return nil }
    self.init(canRead: bits & 1 != 0, canWrite: bits & 2 != 0)
  }
}

/// A right to a topic.
enum TopicRight: Sendable {
  case read, write
}

/// The sender of a request about a topic.
enum TopicCaller: Sendable, Hashable {
  /// A request without credentials.
  case nobody
  /// An account, by its password or a session.
  case account(UserName)
  /// A publisher's token.
  case publisher(PublisherToken)

  /// The account that counts: its own, or that of the token's owner.
  var account: UserName? {
    switch self {
    case .nobody: nil
    case .account(let name): name
    case .publisher(let token): token.owner
    }
  }
}

/// The stored facts of a topic that decide who may use it.
struct TopicFacts: Sendable, Hashable {
  /// Nil for nobody's topic.
  let owner: UserName?
  let everyone: TopicLevel
  /// The rights of the caller's account by name; nil if it isn't named.
  var own: TopicLevel?
}

/// The rules that decide who may use a topic, and who makes one.
enum TopicAccess {
  /// The decision on a request.
  enum Decision: Sendable, Hashable {
    case allowed
    /// There is no such topic, and the caller makes it.
    case makes(owner: UserName?)
    case forbidden
  }

  /// Decides whether a caller may do something.
  ///
  /// - Parameters:
  ///   - right: what the caller wants to do.
  ///   - name: the topic.
  ///   - facts: what is stored of it; nil if there is no such topic.
  ///   - isBarred: whether nobody may have the name for now.
  ///   - caller: the caller.
  ///   - mode: who makes topics.
  static func decide(
    _ right: TopicRight, _ name: TopicName, _ facts: TopicFacts?, isBarred: Bool,
    by caller: TopicCaller, mode: TopicConfiguration.Access
  ) -> Decision {
    guard mode != .off else { return .forbidden }
    if case .publisher(let token) = caller {
      guard token.topics.contains(name.text), right == .write || token.reads else {
        return .forbidden
      }
    }
    guard let facts else {
      guard !isBarred else { return .forbidden }
      if let account = caller.account { return .makes(owner: account) }
      return mode == .open ? .makes(owner: nil) : .forbidden
    }
    return level(of: caller, facts).allows(right) ? .allowed : .forbidden
  }

  /// Returns what a caller's account may do.
  private static func level(of caller: TopicCaller, _ facts: TopicFacts) -> TopicLevel {
    guard let account = caller.account else { return facts.everyone }
    if account == facts.owner { return .readWrite }
    return facts.own ?? facts.everyone
  }

  /// Returns what a new topic gives everyone.
  static func everyone(
    ofNew name: TopicName, owner: UserName?, configured: TopicLevel
  ) -> TopicLevel {
    guard owner != nil else { return .readWrite }
    guard name.isUnifiedPush else { return configured }
    // The programs that send to these have no account.
    return configured.canRead ? .readWrite : .write
  }
}
