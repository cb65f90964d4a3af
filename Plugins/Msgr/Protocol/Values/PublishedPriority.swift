/// The priority of a published message, as Gotify counts it: 0 to 10.
struct PublishedPriority: Hashable, Sendable, RawRepresentable {
  /// The number.
  let rawValue: Int

  /// Takes a number from 0 to 10, or returns nil.
  init?(rawValue: Int) {
    guard (0...10).contains(rawValue) else { return nil }
    self.rawValue = rawValue
  }

  /// True if the message may wait until the device is awake.
  var isLow: Bool { rawValue < 4 }

  /// ntfy's five priorities, by number and by name.
  private static let levels = [
    "1": 1, "min": 1, "2": 3, "low": 3, "3": 5, "default": 5, "4": 8, "high": 8, "5": 10,
    "max": 10, "urgent": 10,
  ]

  /// Reads the header field that ntfy's clients send.
  ///
  /// - Parameter text: 1 to 5, or the priority's name.
  /// - Returns: nil for anything else.
  init?(ntfy text: String) {
    guard let value = Self.levels[text.lowercased()] else { return nil }
    rawValue = value
  }
}
