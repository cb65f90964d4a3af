internal import Formats
internal import Platform

/// An entry in the form of ntfy's clients: one line of JSON.
enum NtfyMessage {
  /// The events that no entry of a log is.
  enum Sign: String, Sendable {
    case open
    case keepalive
  }

  /// Returns the JSON of an entry, without a line break.
  ///
  /// - Parameter notes: what was cut or dropped, for who has published it.
  static func json(of entry: TopicEntry, notes: [String] = []) -> String {
    let parts = entry.parts
    let isMessage = entry.event == .message
    let hasSequence = !isMessage || entry.sequence != entry.id
    let level = parts.priority.map(MessagePriority.level)
    let notes: JSONValue? = notes.isEmpty ? nil : .list(notes.map { .text($0) })
    return line([
      "id": .text(entry.id),
      "time": .integer(entry.time.seconds),
      "expires": .integer(entry.expires.seconds),
      "event": .text(name(of: entry.event)),
      "topic": .text(entry.topic.text),
      "sequence_id": hasSequence ? .text(entry.sequence) : nil,
      "title": parts.title.map { .text($0) },
      "message": isMessage ? .text(entry.text) : nil,
      "priority": level.flatMap { $0 == MessagePriority.defaultLevel ? nil : .integer($0) },
      "tags": parts.tags.map { tags in .list(tags.map { .text($0) }) },
      "click": parts.link.map { .text($0) },
      "icon": parts.icon.map { .text($0) },
      "actions": parts.actions.map { actions in .list(actions.map(json)) },
      "attachment": parts.attachment.map(json),
      "content_type": parts.isMarkdown == true ? .text("text/markdown") : nil,
      "encoding": entry.isBase64 ? .text("base64") : nil,
      "notes": notes,
    ])
  }

  /// Returns the JSON of a sign of the stream's own.
  ///
  /// - Parameter topics: the topics, as the client has asked for them.
  static func json(of sign: Sign, id: String, time: Int64, topics: String) -> String {
    line([
      "id": .text(id), "time": .integer(time), "event": .text(sign.rawValue),
      "topic": .text(topics),
    ])
  }

  static func name(of event: TopicEvent) -> String {
    switch event {
    case .message: "message"
    case .deletion: "message_delete"
    case .clearing: "message_clear"
    }
  }

  private static func json(of action: MessageAction) -> JSONValue {
    .object([
      "id": .text(action.id),
      "action": .text(action.action.rawValue),
      "label": .text(action.label),
      "clear": .truth(action.clear),
      "url": action.url.map { .text($0) },
      "method": action.method.map { .text($0) },
      "headers": action.headers.map(json),
      "body": action.body.map { .text($0) },
      "intent": action.intent.map { .text($0) },
      "extras": action.extras.map(json),
      "value": action.value.map { .text($0) },
    ])
  }

  private static func json(of texts: [String: String]) -> JSONValue {
    .object(
      texts.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .text($0.value)) })
  }

  private static func json(of attachment: MessageAttachment) -> JSONValue {
    .object([
      "name": .text(attachment.name),
      "type": attachment.type.map { .text($0) },
      "size": attachment.size.map { .integer($0) },
      "expires": attachment.expires.map { .integer($0) },
      "url": .text(attachment.url),
    ])
  }

  /// Returns an object on one line, as the strictest client splits lines: also at signs that JSON need not escape.
  private static func line(_ members: KeyValuePairs<String, JSONValue?>) -> String {
    let json = JSONValue.object(members).json
    // The first bytes of those signs, which few texts have.
    guard json.utf8.contains(where: { $0 == 0xc2 || $0 == 0xe2 }),
      json.unicodeScalars.contains(where: isLineBreak)
    else { return json }
    return json.unicodeScalars.reduce(into: "") { line, scalar in
      if isLineBreak(scalar) {
        let digits = String(scalar.value, radix: 16)
        line += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      } else {
        line.unicodeScalars.append(scalar)
      }
    }
  }

  private static func isLineBreak(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\u{85}" || scalar == "\u{2028}" || scalar == "\u{2029}"
  }
}
