internal import Formats
internal import HTTPProtocol
internal import Platform
internal import Routing

extension HTTPError {
  /// Makes the response to a request of Msgr's own about a topic, or with a file.
  init(refusing refusal: TopicRefusal) {
    switch refusal {
    case .unauthorized: self.init(.forbidden)
    case .forbidden:
      self.init(
        denied: "the topic or the user isn't there, or the topic's owner doesn't allow this")
    case .tooManyFailures(let seconds), .tooManyRequests(let seconds), .bandwidth(let seconds),
      .tooManyStreams(let seconds):
      self.init(.tooManyRequests, retryAfter: seconds)
    case .tooManyTopics:
      self.init(.tooManyRequests, "the account has as many topics as it may have", retryAfter: 3600)
    case .tooManyWaiting:
      self.init(.tooManyRequests, "too many messages wait for their time", retryAfter: 60)
    case .tooManySubscribers:
      self.init(.forbidden, "the topic has as many subscribers as it may have")
    case .tooManyNamed:
      self.init(.forbidden, "the topic names as many users as it may")
    case .tooManyUploads: self.init(.tooManyRequests, retryAfter: 10)
    case .tooLarge: self.init(.contentTooLarge)
    case .noFiles: self.init(.badRequest, "no files are kept here")
    case .noSubscriber: self.init(.insufficientStorage)
    case .busy: self.init(.serviceUnavailable, retryAfter: 1)
    }
  }
}

// Requests about topics for Msgr's own clients; only below `/msgr`, so that the root stays free for names.
extension MsgrRoutes {
  /// Registers the requests, if there are topics.
  func registerTopics(_ topics: TopicService, on router: inout Router) {
    guard topics.isOn else { return }
    topicPost("/topics", on: &router) { _, _, account in
      try await topics.store.topics(of: account)
    }
    topicPost("/topics/make", on: &router) { call, _, account in
      try await topics.store.make(
        try call.fields.topic(), everyone: try call.fields.level(.everyone), by: account)
    }
    topicPost("/topics/subscribe", on: &router) { call, requester, account in
      let isPushed = call.fields.has(.push) ? try call.fields.truth(.push) : true
      return try await topics.store.subscribe(
        account, to: try call.fields.topic(), isPushed: isPushed, by: requester)
    }
    topicPost("/topics/unsubscribe", on: &router) { call, _, account in
      try await topics.store.unsubscribe(account, from: try call.fields.topic())
    }
    topicPost("/topics/access", on: &router) { call, _, account in
      let fields = call.fields
      let user = fields.has(.user) ? try fields.name(.user) : nil
      return try await topics.store.allow(
        user, try fields.level(.access), on: try fields.topic(), by: account)
    }
    topicPost("/topics/remove", on: &router) { call, _, account in
      try await topics.store.remove(try call.fields.topic(), by: account)
      return ["Status": "removed"]
    }
  }

  /// Registers a request of an account's.
  private func topicPost<Body: Encodable & Sendable & SendableMetatype>(
    _ path: String, on router: inout Router,
    _ act: @escaping @Sendable (FieldRequest, TopicRequester, UserName) async throws -> Body
  ) {
    let authenticator = service.authenticator
    let store = service.store
    registerFields(path, in: [Self.prefix], on: &router) { call in
      try await authenticator.perform(as: try call.credentials()) { caller in
        // What was found from memory may have ended.
        _ = try await store.name(of: caller)
        let requester = TopicRequester(
          caller: .account(caller.name), credential: .nothing, site: nil)
        try topics.chargeReading(requester)
        return try await act(call, requester, caller.name)
      }
    }
  }

  /// Returns the messages of a topic that a caller may read, newest first, in the form of a history.
  func history(
    ofTopic call: FieldRequest, in topics: TopicService, by caller: Caller, before: Int64?,
    atMost count: Int
  ) async throws -> Response.Body {
    let name = try call.fields.topic()
    let requester = TopicRequester(caller: .account(caller.name), credential: .nothing, site: nil)
    _ = try await service.store.name(of: caller)
    try await topics.mayRead([name], by: requester)
    return try await JSONListReading<TopicEntry>(
      atMost: count, encode: { try JSONText.of(TopicMessage($0)) }
    ) { last, count in
      try await topics.store.history(
        of: name, before: last?.number.rawValue ?? before, atMost: count)
    }.body()
  }
}

extension FieldValues {
  /// Returns the name of a topic.
  func topic() throws(FieldError) -> TopicName {
    let text = try text(.topic)
    guard let name = TopicName(text) else {
      throw FieldError(
        .topic, TopicName.isWellFormed(text) ? "is reserved" : "is not 1 to 64 of [-_A-Za-z0-9]")
    }
    return name
  }

  /// Returns what is allowed; nil if there is no such field.
  func level(_ field: FieldID) throws(FieldError) -> TopicLevel? {
    guard has(field) else { return nil }
    guard let level = TopicLevel(rawValue: try text(field)) else {
      throw FieldError(field, "is none of deny, read, write and read-write")
    }
    return level
  }
}

/// An entry of a topic in the form of Msgr's history. Its identifier is its place in the topic's log.
struct TopicMessage: Encodable, Sendable {
  private enum Key: String, CodingKey {
    case id = "Id"
    case userFrom = "UserFrom"
    case message = "Message"
    case time = "Time"
  }

  let entry: TopicEntry

  init(_ entry: TopicEntry) { self.entry = entry }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(MsgrMessageID(rawValue: entry.number.rawValue).text, forKey: .id)
    try container.encode(entry.topic.sender.text, forKey: .userFrom)
    try container.encode(entry.text, forKey: .message)
    try container.encode(entry.time.description, forKey: .time)
    var parts = entry.parts
    parts.topic = entry.topic.text
    if entry.sequence != entry.id { parts.sequence = entry.sequence }
    try parts.encode(to: encoder)
  }
}
