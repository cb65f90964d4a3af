internal import Formats
internal import Platform

/// The position from which a reader begins.
enum TopicSince: Hashable, Sendable {
  /// With everything that is kept.
  case all
  /// With what comes.
  case none
  /// With the last message of each topic.
  case latest
  /// After an entry; with everything if it isn't known.
  case id(String)
  /// With what came at a moment, or later.
  case time(Timestamp)

  /// Reads a client's words; nil for what isn't understood.
  init?(_ text: String, now: Timestamp) {
    switch text {
    case "all": self = .all
    case "none": self = .none
    case "latest": self = .latest
    case _ where text.utf8.count == TopicEntry.idLength && text.utf8.allSatisfy(\.isLetterOrDigit):
      self = .id(text)
    default:
      if let seconds = Int64(text), seconds >= 0 {
        self = .time(Timestamp(seconds: seconds))
      } else if let seconds = DelayWords.seconds(text) {
        self = .time(now - .seconds(seconds))
      } else {
        return nil
      }
    }
  }
}
