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
    let bytes = Array(text.utf8)
    var decoded: [UInt8] = []
    var index = 0
    while index < bytes.count {
      guard let run = words(in: bytes, from: index) else {
        decoded.append(bytes[index])
        index += 1
        continue
      }
      decoded += run.text.map { Array($0.utf8) } ?? Array(bytes[index..<run.end])
      index = run.end
      // Blanks between two encoded words belong to neither (section 6.2).
      let behind = firstNonBlank(in: bytes, from: index)
      if run.text != nil, word(in: bytes, from: behind) != nil { index = behind }
    }
    return String(decoding: decoded, as: UTF8.self)
  }

  /// Reads the encoded words of one charset that stand behind each other: some programs split a character over two.
  ///
  /// - Returns: their text, which is nil if their bytes aren't text, and the end of the last one; nil if none begins there.
  private static func words(in bytes: [UInt8], from start: Int) -> (text: String?, end: Int)? {
    guard let first = word(in: bytes, from: start) else { return nil }
    var content = first.content
    var end = first.end
    while let next = word(in: bytes, from: firstNonBlank(in: bytes, from: end)),
      next.charset == first.charset
    {
      content += next.content
      end = next.end
    }
    let text =
      TextEncoding.isUTF8(first.charset)
      ? String(validating: content, as: UTF8.self)
      : TextEncoding.decode(content, as: first.charset)
    return (text, end)
  }

  private static func firstNonBlank(in bytes: [UInt8], from start: Int) -> Int {
    bytes[start...].firstIndex { !$0.isWhiteSpace } ?? bytes.count
  }

  /// Reads an encoded word: `=?charset?B?text?=`.
  ///
  /// Looks no further than the next one that begins, so that all of a text is looked at a few times only.
  ///
  /// - Returns: its charset in lower case, the bytes of its text and its end; nil if none begins there.
  private static func word(
    in bytes: [UInt8], from start: Int
  ) -> (charset: String, content: [UInt8], end: Int)? {
    let question = UInt8(ascii: "?")
    guard bytes[start...].starts(with: "=?".utf8) else { return nil }
    let charset = bytes[(start + 2)...].prefix { $0.isLetterOrDigit || "-_.:+*".utf8.contains($0) }
    let encoding = charset.endIndex + 1
    let content = encoding + 2
    guard content <= bytes.count, bytes[charset.endIndex] == question,
      bytes[encoding + 1] == question,
      let end = bytes[content...].firstIndex(where: { $0 == question || $0.isWhiteSpace }),
      bytes[end...].starts(with: "?=".utf8)
    else { return nil }
    let decoded: [UInt8]?
    switch bytes[encoding] | 0x20 {
    case UInt8(ascii: "b"):
      decoded = Data(base64Encoded: padded(bytes[content..<end])).map { Array($0) }
    case UInt8(ascii: "q"): decoded = quoted(bytes[content..<end])
    default: decoded = nil
    }
    guard let decoded else { return nil }
    // A language may stand behind the charset (RFC 2231 section 5).
    let name = String(decoding: charset.prefix { $0 != UInt8(ascii: "*") }, as: UTF8.self)
    return (name.lowercased(), decoded, end + 2)
  }

  private static func padded(_ text: ArraySlice<UInt8>) -> String {
    let missing = (4 - text.count % 4) % 4
    return String(decoding: text, as: UTF8.self) + String(repeating: "=", count: missing)
  }

  /// Decodes the encoding Q (section 4.2).
  private static func quoted(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text
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
  /// True for a blank, a tab, and the bytes of a line's end.
  fileprivate var isWhiteSpace: Bool { " \t\r\n".utf8.contains(self) }

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
