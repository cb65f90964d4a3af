/// A session of an account or one of its publishers, as the list of sessions shows it.
public struct MsgrLogin: Sendable, Hashable, Decodable, Identifiable {
  /// The name that ``MsgrSession/end(_:)`` ends it by.
  public let id: String
  /// The user's name for the device; empty if none was given.
  public let device: String
  /// The way in which the device gets messages: `apns`, `fcm`, `webpush` or `stream`; `publish` for a
  /// publisher.
  public let kind: String
  /// The time of the login, as RFC 3339 writes it.
  public let created: String
  /// The time of the last use, to the day.
  public let used: String
  /// True if it is the session that asked.
  public let isCurrent: Bool

  private enum CodingKeys: String, CodingKey {
    case id = "Session"
    case device = "Device"
    case kind = "Kind"
    case created = "Created"
    case used = "Used"
    case isCurrent = "Current"
  }
}
