internal import Formats
internal import HTTPProtocol

/// A message that a program publishes, validated, before anybody knows whose it is.
struct Publication: Hashable, Sendable {
  /// The text.
  var text: MessageText
  /// The optional parts beside its text.
  var parts: MessageParts
  /// The parts that were cut or dropped, in sentences for the program.
  var notes: [String] = []
}

/// A program's message, in any form, before it is validated.
///
/// All dialects translate to this, and ``publication(upTo:identifier:)`` is the one place that decides what is taken. A wrong
/// part never loses the message: it is cut or dropped, with a note.
struct PublicationFields: Hashable, Sendable {
  /// The scale of a priority.
  enum PriorityScale: Hashable, Sendable {
    /// 0 to 10, as Msgr and Gotify count.
    case ten
    /// 1 to 5 or their names, as ntfy counts.
    case five
  }

  var message: String?
  var title: String?
  /// The priority in digits or words.
  var priority: String?
  var priorityScale = PriorityScale.ten
  var tags: [String] = []
  var link: String?
  var icon: String?
  /// The actions as JSON objects.
  var actions: [JSONValue] = []
  var isMarkdown = false
  var sequence: String?
  var extras: JSONValue?
  /// The address of a file elsewhere.
  var attachedURL: String?
  /// The name of a file.
  var fileName: String?
  /// The time at which it is to come, in words.
  var delay: String?
  /// True if it goes to open streams only.
  var isUncached = false
  /// Notes of what was dropped while it was read.
  var notes: [String] = []
}

extension PublicationFields {
  /// The longest title, in bytes.
  static let longestTitle = 256
  private static let tagLimit = (count: 20, bytes: 64)
  private static let actionLimit = 3
  /// The most actions that are looked at, be they good or not.
  private static let actionsRead = 8
  private static let mostNotes = 10
  private static let longestExtras = 4096
  private static let longestSequence = 64
  private static let longestFileName = 255

  /// Validates what was given.
  ///
  /// - Parameter longest: the longest text, in bytes.
  /// - Throws: ``FieldError`` without a text.
  func publication(
    upTo longest: Int, identifier: (Int) -> String
  ) throws(FieldError) -> Publication {
    guard let message else { throw FieldError(.message, "is missing") }
    var notes = notes
    var text = PlainText.cleaned(message)
    guard !text.isEmpty else { throw FieldError(.message, "is empty") }
    if text.utf8.count > longest {
      text = PlainText.cut(text, toBytes: longest)
      notes.append("Message was cut to \(longest) bytes")
    }
    var parts = MessageParts()
    parts.title = validTitle(&notes)
    parts.priority = validPriority(&notes)
    parts.tags = validTags(&notes)
    parts.link = validLink(link, named: "Link", schemes: nil, &notes)
    parts.icon = validLink(icon, named: "Icon", schemes: MessageLink.webSchemes, &notes)
    parts.actions = validActions(&notes, identifier)
    parts.isMarkdown = isMarkdown ? true : nil
    parts.attachment = validAttachment(&notes)
    parts.sequence = validSequence(&notes)
    parts.extras = validExtras(&notes)
    return Publication(
      text: MessageText(stored: text), parts: parts, notes: Array(notes.prefix(Self.mostNotes)))
  }

  /// Whether there is a text of the program's own.
  var hasMessage: Bool { Self.hasWords(message) }

  /// Whether there is a text or a title of the program's own, which is worth something without a file.
  var hasText: Bool { hasMessage || Self.hasWords(title) }

  /// Returns whether something is left of a text without its control characters.
  private static func hasWords(_ text: String?) -> Bool {
    text.map { !PlainText.cleaned($0).trimmingBlanks.isEmpty } ?? false
  }

  /// Gives a message that has a file elsewhere and no text of its own one that names the file.
  mutating func nameAttachment() {
    guard !hasMessage, let attachmentName else { return }
    message = Self.received(attachmentName)
  }

  /// The text of a message that has nothing but a file.
  static func received(_ name: String) -> String {
    "You received a file: \(fileName(name) ?? "attachment")"
  }

  /// Says in the last line of the text, and in a note, why a file wasn't kept.
  mutating func record(_ refusal: UploadRefusal, of name: String) {
    let sentence = refusal.sentence(about: Self.fileName(name) ?? "attachment")
    message = (message.map { "\($0)\n" } ?? "") + "[\(sentence)]"
    notes.append(sentence)
  }

  private func validTitle(_ notes: inout [String]) -> String? {
    let line = PlainText.line(title ?? "")
    if line.utf8.count > Self.longestTitle {
      notes.append("Title was cut to \(Self.longestTitle) bytes")
    }
    let cut = PlainText.cut(line, toBytes: Self.longestTitle)
    return cut.isEmpty ? nil : cut
  }

  private func validPriority(_ notes: inout [String]) -> Int? {
    guard let text = priority?.trimmingBlanks, !text.isEmpty else { return nil }
    switch priorityScale {
    case .ten:
      if let number = Int(text), MessagePriority.range.contains(number) { return number }
      notes.append("Priority was left out: it is not a whole number from 0 to 10")
    case .five:
      if let level = MessagePriority.level(named: text) {
        return MessagePriority.number(ofLevel: level)
      }
      notes.append("Priority was left out: it is neither 1 to 5 nor one of their names")
    }
    return nil
  }

  private func validTags(_ notes: inout [String]) -> [String]? {
    let cleaned = tags.map(PlainText.line).filter { !$0.isEmpty }
    let fitting = cleaned.filter { $0.utf8.count <= Self.tagLimit.bytes }
    let kept = Array(fitting.prefix(Self.tagLimit.count))
    if kept.count < cleaned.count {
      notes.append(
        "Tags beyond \(Self.tagLimit.count), or of more than \(Self.tagLimit.bytes) bytes, were dropped"
      )
    }
    return kept.isEmpty ? nil : kept
  }

  private func validLink(
    _ text: String?, named name: String, schemes: Set<String>?, _ notes: inout [String]
  ) -> String? {
    guard let text, !text.trimmingBlanks.isEmpty else { return nil }
    if let link = MessageLink(text, schemes: schemes) { return link.text }
    notes.append(
      "\(name) was dropped: it is no link of an allowed kind with at most \(MessageLink.longest) bytes"
    )
    return nil
  }

  private func validActions(
    _ notes: inout [String], _ identifier: (Int) -> String
  ) -> [MessageAction]? {
    var valid: [MessageAction] = []
    for (index, json) in actions.enumerated() {
      guard valid.count < Self.actionLimit, index < Self.actionsRead else {
        notes.append("Actions beyond \(Self.actionLimit) were dropped")
        break
      }
      do throws(MessageAction.Fault) {
        valid.append(try MessageAction(json, id: identifier(MessageAction.idLength)))
      } catch { notes.append("Action \(index + 1) was dropped: \(error.reason)") }
    }
    return valid.isEmpty ? nil : valid
  }

  /// Returns the file elsewhere that the message names.
  private func validAttachment(_ notes: inout [String]) -> MessageAttachment? {
    let link = validLink(
      attachedURL, named: "Attachment", schemes: MessageLink.webSchemes, &notes)
    guard let link, let name = attachmentName else { return nil }
    return MessageAttachment(name: name, url: link)
  }

  /// The name of the file elsewhere that the message names; nil without one.
  var attachmentName: String? {
    guard let attachedURL, let link = MessageLink(attachedURL, schemes: MessageLink.webSchemes)
    else { return nil }
    let path = link.text.prefix { $0 != "?" && $0 != "#" }
    let last = path.split(separator: "/").dropFirst(2).last ?? ""
    let decoded = PercentEncoding.decodeText(Array(last.utf8)[...]) ?? String(last)
    return Self.fileName(fileName ?? decoded) ?? "attachment"
  }

  /// Returns a file's name without folders and control characters; nil if nothing is left of it.
  static func fileName(_ text: String) -> String? {
    let line = PlainText.line(text)
    let last = line.split { "/\\".contains($0) }.last.map(String.init) ?? ""
    guard !last.allSatisfy({ $0 == "." }) else { return nil }
    guard last.utf8.count > longestFileName else { return last }
    // The end has the extension.
    let characters = last.reversed()
    var room = longestFileName
    let kept = characters.prefix { character in
      room -= character.utf8.count
      return room >= 0
    }
    return String(kept.reversed())
  }

  private func validSequence(_ notes: inout [String]) -> String? {
    guard let text = sequence?.trimmingBlanks, !text.isEmpty else { return nil }
    if Self.isSequence(text) { return text }
    notes.append(
      "Sequence was dropped: it is not 1 to \(Self.longestSequence) letters, digits, hyphens and underscores"
    )
    return nil
  }

  /// Returns whether a text can name a sequence of messages.
  static func isSequence(_ text: String) -> Bool {
    (1...longestSequence).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        $0.isLetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
      }
  }

  private func validExtras(_ notes: inout [String]) -> JSONValue? {
    guard let extras, extras != .null, extras != .object([JSONValue.Member]()) else { return nil }
    guard extras.members != nil, extras.json.utf8.count <= Self.longestExtras else {
      notes.append("Extras were dropped: they are no object of at most \(Self.longestExtras) bytes")
      return nil
    }
    return extras
  }
}

/// The scales of priorities.
enum MessagePriority {
  /// The numbers of Msgr and Gotify.
  static let range = 0...10
  /// The level of ntfy's of a message without a priority.
  static let defaultLevel = 3
  private static let numbers = [1: 1, 2: 3, 3: 5, 4: 8, 5: 10]
  private static let names = [
    "1": 1, "min": 1, "2": 2, "low": 2, "3": 3, "default": 3, "4": 4, "high": 4, "5": 5, "max": 5,
    "urgent": 5,
  ]

  /// Returns the level, from 1 to 5, of a digit or name.
  static func level(named text: String) -> Int? { names[text.lowercased()] }

  /// Returns the number, from 0 to 10, of a level from 1 to 5.
  static func number(ofLevel level: Int) -> Int? { numbers[level] }

  /// Returns the level, from 1 to 5, of a number from 0 to 10.
  static func level(ofNumber number: Int) -> Int {
    switch number {
    case ...1: 1
    case 2...3: 2
    case 4...7: 3
    case 8...9: 4
    default: 5
    }
  }
}
