internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol
internal import Platform
internal import Routing

/// A request that publishes in ntfy's dialect, as far as it can be read without the topic's help.
struct NtfyPublishRequest: Sendable {
  /// The kind of the body.
  enum Body: Sendable, Hashable {
    /// Nothing, or what has become the text.
    case none
    /// A file, with its name.
    case file(name: String)
    /// UnifiedPush's bytes, which are kept as they are.
    case unifiedPush
  }

  private static let triggered = "triggered"
  /// The longest message of UnifiedPush, in bytes.
  static let longestUnifiedPush = 4096

  var fields = PublicationFields()
  var body = Body.none
  /// True if there is a text or a title, which is published even where the file isn't kept.
  private(set) var hasText = false

  /// Reads a request whose body is a text or a file.
  ///
  /// - Parameters:
  ///   - head: the header fields and the query.
  ///   - bytes: the body, or its beginning.
  ///   - isWhole: whether that is all of it.
  ///   - longest: the longest text, in bytes.
  init(_ head: RequestHead, body bytes: [UInt8], isWhole: Bool = true, upTo longest: Int) {
    let parameters = PublishingParameters(head)
    if Self.isUnifiedPush(head, parameters) {
      body = .unifiedPush
      return
    }
    let charset = PublicationReader.charset(of: head)
    // Beside the address of a file elsewhere, a name is that file's.
    if let name = parameters[.fileName], parameters[.attach] == nil, !bytes.isEmpty {
      body = .file(name: name)
    } else if !bytes.isEmpty {
      if isWhole, let text = Self.text(bytes, charset: charset), text.utf8.count <= longest {
        let trimmed = text.trimmingBlanks
        if !trimmed.isEmpty { fields.message = trimmed }
      } else {
        body = .file(name: PublicationReader.isText(bytes) ? "attachment.txt" : "attachment.bin")
      }
    }
    fields.complete(with: parameters)
    if PublicationReader.mediaType(of: head) == "text/markdown" { fields.isMarkdown = true }
    fillMessage()
  }

  /// Reads a JSON object with a `topic`.
  init(_ json: JSONValue, _ head: RequestHead) {
    fields = PublicationReader.fields(of: json)
    fields.message = fields.message?.trimmingBlanks
    fields.complete(with: PublishingParameters(head))
    fillMessage()
  }

  /// A message that has no text says what it is about.
  private mutating func fillMessage() {
    hasText = fields.hasText
    guard !fields.hasMessage else { return }
    switch body {
    case .file(let name): fields.message = PublicationFields.received(name)
    case .none, .unifiedPush:
      fields.nameAttachment()
      if !fields.hasMessage { fields.message = Self.triggered }
    }
  }

  private static func text(_ bytes: [UInt8], charset: String?) -> String? {
    if let charset, let text = TextEncoding.decode(bytes, as: charset),
      !TextEncoding.isUTF8(charset)
    {
      return text
    }
    // What has a NUL is a file, though it is UTF-8.
    guard !bytes.contains(0) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func isUnifiedPush(_ head: RequestHead, _ parameters: PublishingParameters) -> Bool
  {
    let coding = head.value(.contentEncoding)?.trimmingBlanks.lowercased()
    return parameters.isTrue(.unifiedPush) || coding == "aes128gcm"
  }
}

/// A request of a reader's in ntfy's dialect.
struct NtfyReadRequest: Sendable {
  /// The most topics of one request.
  static let longestList = 50

  let topics: [TopicName]
  /// The list as the client has written it.
  let list: String
  var since: TopicSince
  var filter = TopicFilter()
  let isPoll: Bool
  let withWaiting: Bool

  /// Reads a request.
  ///
  /// - Parameters:
  ///   - list: the topics, separated by commas.
  ///   - head: the header fields and the query.
  ///   - now: the time.
  init(_ list: String, _ head: RequestHead, now: Timestamp) throws(NtfyError) {
    self.list = list
    topics = try Self.topics(list)
    let values = ReadParameters(head)
    isPoll = values.isTrue("x-poll", "poll", "po")
    withWaiting = values.isTrue("x-scheduled", "scheduled", "sched")
    if let text = values.first("x-since", "since", "si") {
      guard let since = TopicSince(text, now: now) else { throw .badSince }
      self.since = since
    } else {
      since = isPoll ? .all : .none
    }
    filter.id = values.first("x-id", "id")
    filter.message = values.first("x-message", "message", "m")
    filter.title = values.first("x-title", "title", "t")
    let levels = values.first("x-priority", "priority", "prio", "p") ?? ""
    filter.levels = Set(
      levels.split(separator: ",").compactMap { MessagePriority.level(named: $0.trimmingBlanks) })
    filter.tags = Set(PublishingParameters.tags(values.first("x-tags", "tags", "tag", "ta") ?? ""))
  }

  /// Reads a list of topics.
  static func topics(_ list: String) throws(NtfyError) -> [TopicName] {
    var names: [TopicName] = []
    let parts = list.split(separator: ",", omittingEmptySubsequences: false)
    for part in parts {
      let name = try parts.count == 1 ? topic(ofPath: list) : topic(String(part))
      if !names.contains(name) { names.append(name) }
    }
    guard names.count <= longestList else { throw .badTopic }
    return names
  }

  /// Reads a topic's name.
  static func topic(_ text: String) throws(NtfyError) -> TopicName {
    guard TopicName.isWellFormed(text) else { throw .badTopic }
    guard let name = TopicName(text) else { throw .reservedTopic }
    return name
  }

  /// Reads the first part of a path as a topic's name. One that is reserved belongs to a service, be it running or not, and
  /// what no service has found there isn't there.
  static func topic(ofPath text: String) throws(NtfyError) -> TopicName {
    do throws(NtfyError) {
      return try topic(text)
    } catch { throw error == .reservedTopic ? .reservedPath : error }
  }

  /// Reads the topic of a path.
  static func topic(ofPath parameters: RouteParameters) throws(NtfyError) -> TopicName {
    try topic(ofPath: parameters.text("topic") ?? "")
  }
}

/// The parameters of a reader, in header fields or in the query.
private struct ReadParameters {
  private static let names: Set<String> = [
    "x-poll", "poll", "po", "x-scheduled", "scheduled", "sched", "x-since", "since", "si", "x-id",
    "id", "x-message", "message", "m", "x-title", "title", "t", "x-priority", "priority", "prio",
    "p",
    "x-tags", "tags", "tag", "ta",
  ]

  private var fields: [String: String] = [:]
  private var query: [String: String] = [:]

  init(_ head: RequestHead) {
    head.forEachField { name, value in
      let key = String(decoding: name, as: UTF8.self).lowercased()
      if Self.names.contains(key), fields[key] == nil { fields[key] = HeaderText.decode(value) }
    }
    guard let bytes = head.query else { return }
    for pair in URLEncodedForm(lenient: bytes).pairs where query[pair.name.lowercased()] == nil {
      query[pair.name.lowercased()] = pair.value
    }
  }

  func first(_ names: String...) -> String? { first(names) }

  private func first(_ names: [String]) -> String? {
    for values in [fields, query] {
      for name in names {
        if let value = values[name], !value.isEmpty { return value }
      }
    }
    return nil
  }

  func isTrue(_ names: String...) -> Bool { first(names).map(PublishingParameters.isTrue) ?? false }
}
