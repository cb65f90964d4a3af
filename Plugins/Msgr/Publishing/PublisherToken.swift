/// A token that can do nothing but publish, and read topics if its owner says so.
struct PublisherToken: Hashable, Sendable {
  /// The topics that a token is good for.
  enum Topics: Hashable, Sendable {
    /// Those that its owner may use.
    case all
    /// These.
    case only(Set<String>)

    /// Returns whether a topic is among them.
    func contains(_ topic: String) -> Bool {
      switch self {
      case .all: true
      case .only(let names): names.contains(topic)
      }
    }
  }

  let hash: TokenHash
  /// The user whose token it is.
  let owner: UserName
  /// The name that the owner gave it.
  let name: String
  var topics = Topics.all
  /// True if it may read these topics as well.
  var reads = false

  /// The sender of the publications. No new account has such a name.
  var sender: UserName { Self.sender(owner, name) }

  /// Returns the sender's name of a user's publisher.
  static func sender(_ owner: UserName, _ name: String) -> UserName {
    UserName(stored: "\(owner.text)/\(name)")
  }

  /// Returns the owner if a name is that of a publisher.
  static func owner(of sender: UserName) -> UserName? {
    // By bytes: with an accent behind it a slash is another character.
    sender.text.utf8.lastIndex(of: UInt8(ascii: "/")).map {
      UserName(stored: String(sender.text[..<$0]))
    }
  }
}

/// A publisher that is to be made.
struct NewPublisher: Sendable {
  /// A name that tells it from the owner's others.
  let name: String
  /// The users whom it may send to; none for the owner alone.
  var recipients: [UserName] = []
  /// The topics that it may write to; nil for what ``recipients`` imply: none with some, all of the owner's without.
  var topics: PublisherToken.Topics?
  var reads = false
  var lifetime: Duration?

  /// The topics as they are stored: nil for all of the owner's, else the names, separated by blanks.
  var storedTopics: String? {
    switch topics {
    case .all: return nil
    case .only(let names): return names.sorted().joined(separator: " ")
    case nil: return recipients.isEmpty ? nil : ""
    }
  }
}

extension PublisherToken.Topics {
  /// Reads stored topics.
  init(stored text: String?) {
    guard let text else {
      self = .all
      return
    }
    self = .only(Set(text.split(separator: " ").map(String.init)))
  }
}
