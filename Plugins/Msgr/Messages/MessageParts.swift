/// A message that a program publishes, before anybody knows whose it is.
struct Publication: Hashable, Sendable {
  /// The longest title, in bytes.
  static let longestTitle = 256

  /// The text.
  let text: MessageText
  /// The fields that it has beside its text.
  let extras: Extras

  /// The fields that a published message has beside its text.
  struct Extras: Hashable, Sendable {
    /// The title: at most ``Publication/longestTitle`` bytes on one line.
    var title: String?
    /// The priority.
    var priority: PublishedPriority?
    /// The link that a tap opens.
    var link: PublishedLink?

    /// True if there is nothing.
    var isEmpty: Bool { title == nil && priority == nil && link == nil }
  }

  /// Checks a message.
  ///
  /// - Parameters:
  ///   - message: the text.
  ///   - title: the title; an empty one is none.
  ///   - priority: the priority.
  ///   - link: the link; an empty one is none.
  /// - Throws: ``FieldError`` for the faulty field.
  init(
    message: String, title: String?, priority: PublishedPriority?, link: String?
  ) throws(FieldError) {
    text = try MessageText(message)
    var extras = Extras(priority: priority)
    if let title, !title.isEmpty {
      guard title.utf8.count <= Self.longestTitle else {
        throw FieldError(.title, "is longer than \(Self.longestTitle) bytes")
      }
      guard !title.unicodeScalars.contains(where: \.isControl) else {
        throw FieldError(.title, "has a control character")
      }
      extras.title = title
    }
    if let link, !link.isEmpty { extras.link = try PublishedLink(link) }
    self.extras = extras
  }
}

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

/// A link of a published message: `https`, `http` or `mailto`, and nothing that a browser would run.
struct PublishedLink: Hashable, Sendable {
  /// The longest link, in bytes.
  static let longest = 1024
  private static let schemes = ["https://", "http://", "mailto:"]

  /// The link as it was given.
  let text: String

  /// Checks a link.
  ///
  /// - Parameter text: the link: printable ASCII.
  /// - Throws: ``FieldError`` that says which rule it breaks.
  init(_ text: String) throws(FieldError) {
    guard text.utf8.count <= Self.longest else {
      throw FieldError(.link, "is longer than \(Self.longest) bytes")
    }
    let lower = text.lowercased()
    guard Self.schemes.contains(where: { lower.hasPrefix($0) && lower != $0 }),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
    else { throw FieldError(.link, "is no link with https, http or mailto") }
    self.text = text
  }

  /// Takes a stored link, which was checked before it was stored.
  init(stored text: String) { self.text = text }
}
