internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol

/// The parameters of a request that publishes: header fields, or members of the query, by several names each and in any case.
///
/// A header field comes before the query.
struct PublishingParameters: Sendable {
  /// A parameter, with its names in the order in which they count.
  enum Name: CaseIterable, Sendable {
    case title, message, priority, tags, delay, click, icon, actions, attach, fileName, markdown
    case sequence, cache, unifiedPush, email, call, template

    var aliases: [String] {
      switch self {
      case .title: ["x-title", "title", "ti", "t"]
      case .message: ["x-message", "message", "m"]
      case .priority: ["x-priority", "priority", "prio", "p"]
      case .tags: ["x-tags", "tags", "tag", "ta"]
      case .delay: ["x-delay", "delay", "x-at", "at", "x-in", "in"]
      case .click: ["x-click", "click"]
      case .icon: ["x-icon", "icon"]
      case .actions: ["x-actions", "actions", "action"]
      case .attach: ["x-attach", "attach", "a"]
      case .fileName: ["x-filename", "filename", "file", "f"]
      case .markdown: ["x-markdown", "markdown", "md"]
      case .sequence: ["x-sequence-id", "sequence-id", "sid"]
      case .cache: ["x-cache", "cache"]
      case .unifiedPush: ["x-unifiedpush", "unifiedpush", "up"]
      case .email: ["x-email", "x-e-mail", "email", "e-mail", "mail", "e"]
      case .call: ["x-call", "call"]
      case .template: ["x-template", "template", "tpl"]
      }
    }
  }

  private static let names: [String: Name] = Dictionary(
    Name.allCases.flatMap { name in name.aliases.map { ($0, name) } }, uniquingKeysWith: { $1 })

  private var values: [Name: (rank: Int, value: String)] = [:]

  /// Reads the parameters of a request.
  init(_ head: RequestHead) {
    head.forEachField { name, value in
      let key = String(decoding: name, as: UTF8.self).lowercased()
      guard let known = Self.names[key] else { return }
      let text = HeaderText.decode(value)
      if key == "priority", Self.isOfHTTP(priority: text) { return }
      accept(text, of: known, named: key, 0)
    }
    guard let query = head.query else { return }
    for pair in URLEncodedForm(lenient: query).pairs {
      let key = pair.name.lowercased()
      if let known = Self.names[key] { accept(pair.value, of: known, named: key, 100) }
    }
  }

  /// Returns whether the value of `Priority` is that of RFC 9218, which browsers and proxies add.
  private static func isOfHTTP(priority text: String) -> Bool {
    let members = text.split(separator: ",").map { $0.trimmingBlanks }
    return !members.isEmpty
      && members.allSatisfy { member in
        ["i", "i=?0", "i=?1"].contains(member)
          || member.hasPrefix("u=") && (0...7).contains(Int(member.dropFirst(2)) ?? -1)
      }
  }

  private mutating func accept(_ value: String, of name: Name, named key: String, _ base: Int) {
    // An empty one says nothing, and hides no other.
    guard !value.trimmingBlanks.isEmpty else { return }
    let rank = base + (name.aliases.firstIndex(of: key) ?? 0)
    if let known = values[name], known.rank <= rank { return }
    values[name] = (rank, value)
  }

  /// The value of a parameter, which isn't empty; nil without one.
  subscript(name: Name) -> String? { values[name]?.value }

  /// Returns whether a parameter says yes.
  func isTrue(_ name: Name) -> Bool { self[name].map(Self.isTrue) ?? false }

  /// Returns whether a word says yes.
  static func isTrue(_ text: String) -> Bool {
    ["1", "yes", "true"].contains(text.trimmingBlanks.lowercased())
  }

  /// Splits a list of tags, separated by commas.
  static func tags(_ text: String) -> [String] {
    text.split(separator: ",").map { $0.trimmingBlanks }.filter { !$0.isEmpty }
  }
}

extension PublicationFields {
  /// Fills in what the parameters say and the fields lack.
  mutating func complete(with parameters: PublishingParameters) {
    // `\n` written as two characters, as one line of a header field can't say it otherwise.
    message =
      message
      ?? parameters[.message].map { text in
        text.utf8.contains(UInt8(ascii: "\\")) ? text.replacing(#"\n"#, with: "\n") : text
      }
    title = title ?? parameters[.title]
    if priority == nil, let given = parameters[.priority] {
      priority = given
      priorityScale = .five
    }
    if tags.isEmpty { tags = parameters[.tags].map(PublishingParameters.tags) ?? [] }
    link = link ?? parameters[.click]
    icon = icon ?? parameters[.icon]
    if actions.isEmpty, let text = parameters[.actions] { read(actions: text) }
    isMarkdown = isMarkdown || parameters.isTrue(.markdown)
    sequence = sequence ?? parameters[.sequence]
    attachedURL = attachedURL ?? parameters[.attach]
    fileName = fileName ?? parameters[.fileName]
    delay = delay ?? parameters[.delay]
    isUncached = isUncached || parameters[.cache].map { !PublishingParameters.isTrue($0) } ?? false
    for (name, words) in [
      (PublishingParameters.Name.email, "Email"), (.call, "Call"), (.template, "Template"),
    ] where parameters[name] != nil {
      notes.append("\(words) was ignored: it is not done here")
    }
  }

  /// Reads actions, as JSON or in the short form.
  mutating func read(actions text: String) {
    do throws(ActionsSyntax.Fault) {
      let parsed = try ActionsSyntax.parse(text)
      actions = parsed.actions
      notes += parsed.notes
    } catch {
      notes.append("Actions were dropped: \(error.reason)")
    }
  }
}

/// The text of a header field, of which HTTP libraries send more than ASCII in three ways: UTF-8, ISO 8859-1, and the encoded
/// words of RFC 2047.
enum HeaderText {
  /// Returns the text of a field.
  static func decode(_ bytes: some Collection<UInt8>) -> String {
    let text = String(validating: bytes, as: UTF8.self) ?? TextEncoding.latin1(bytes)
    return decodingWords(of: text)
  }

  /// Returns a text with its encoded words decoded; what isn't well-formed stays as it is.
  static func decodingWords(of text: String) -> String {
    guard text.contains("=?") else { return text }
    var decoded = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "=?") {
      guard let (word, end) = word(in: rest[start.lowerBound...]) else {
        decoded += rest[..<start.upperBound]
        rest = rest[start.upperBound...]
        continue
      }
      decoded += rest[..<start.lowerBound]
      decoded += word
      rest = rest[end...]
      // Blanks between two encoded words belong to neither (section 6.2).
      let behind = rest.drop { " \t\r\n".contains($0) }
      if self.word(in: behind) != nil { rest = behind }
    }
    return decoded + rest
  }

  /// Reads an encoded word: `=?charset?B?text?=`.
  ///
  /// - Returns: its text and its end; nil if the text doesn't begin with one.
  private static func word(in text: Substring) -> (String, Substring.Index)? {
    guard text.hasPrefix("=?") else { return nil }
    let parts = text.dropFirst(2).split(
      separator: "?", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let end = parts[2].firstRange(of: "?=") else { return nil }
    let content = parts[2][..<end.lowerBound]
    // A language may stand behind the charset (RFC 2231 section 5).
    let charset = parts[0].prefix { $0 != "*" }
    guard !content.contains(where: \.isWhitespace) else { return nil }
    let bytes: [UInt8]?
    switch parts[1] {
    case "B", "b": bytes = Data(base64Encoded: padded(content)).map { Array($0) }
    case "Q", "q": bytes = quoted(content)
    default: bytes = nil
    }
    guard let bytes, let word = TextEncoding.decode(bytes, as: String(charset)) else { return nil }
    return (word, end.upperBound)
  }

  private static func padded(_ text: Substring) -> String {
    let missing = (4 - text.utf8.count % 4) % 4
    return text + String(repeating: "=", count: missing)
  }

  /// Decodes the encoding Q (section 4.2).
  private static func quoted(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "_"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "="):
        guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else {
          return nil
        }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return bytes
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit; nil for any other character.
  fileprivate var hexDigit: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
