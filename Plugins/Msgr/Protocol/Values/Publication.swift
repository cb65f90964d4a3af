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
