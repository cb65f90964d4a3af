/// A token that can do nothing but publish.
struct Publisher: Hashable, Sendable {
  let hash: TokenHash
  /// The user whose token it is.
  let owner: UserName
  /// The name that the owner gave it.
  let name: String

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
