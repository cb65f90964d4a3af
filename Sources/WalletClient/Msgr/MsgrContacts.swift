/// The users that an account has to do with, each list sorted by bytes.
public struct MsgrContacts: Sendable, Hashable, Decodable {
  /// The friends: each has added the other.
  public let friends: [String]
  /// The users who have asked to become friends.
  public let incoming: [String]
  /// The users who were asked.
  public let outgoing: [String]
  /// The users of whom nothing is let through.
  public let blocked: [String]

  private enum CodingKeys: String, CodingKey {
    case friends = "Friends"
    case incoming = "Incoming"
    case outgoing = "Outgoing"
    case blocked = "Blocked"
  }
}
