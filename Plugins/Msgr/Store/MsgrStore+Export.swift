internal import Storage
internal import Platform

/// The data of an account beside its messages, without its password and tokens. The members' names are those in JSON.
private struct ExportedAccount: Sendable, Encodable {
  let Username: String
  let Created: String
  let Contacts: ContactLists
  let Sessions: [SessionSummary]
  let Devices: [Device]
  let Tokens: [PublisherToken]
  let Wallets: [String]
  let Topics: [Topic]
  let Waiting: [WaitingMessage]

  struct Device: Sendable, Encodable {
    let DeviceID: String
    /// The address at a push service that the device has subscribed with.
    let Endpoint: String?
  }

  struct PublisherToken: Sendable, Encodable {
    let Name: String
    let To: [String]
  }

  struct Topic: Sendable, Encodable {
    let Topic: String
    let Owner: String?
    let Everyone: TopicLevel
    /// The rights of others by name, on a topic of the account's own.
    let Users: [String: TopicLevel]?
    let Subscribed: Bool
  }

  /// A message to a topic that waits for its time.
  struct WaitingMessage: Sendable, Encodable {
    let Topic: String
    let Message: String
    let Time: String
  }
}

/// Whom an account is exported for.
enum ExportReader: Sendable {
  /// The account's user.
  case user(Caller)
  /// The operator.
  case administrator(of: UserName)

  /// The account.
  var name: UserName {
    switch self {
    case .user(let caller): caller.name
    case .administrator(let name): name
    }
  }

  fileprivate var caller: Caller? {
    if case .user(let caller) = self { caller } else { nil }
  }
}

extension MsgrStore {
  /// Returns all that is kept of an account, as JSON with the messages to it and its own copies, oldest first.
  ///
  /// Messages are read and encoded page by page, as the reader takes them. Each page confirms the user, as the name may be
  /// another's meanwhile.
  ///
  /// - Throws: `.forbidden` if there is no such account, or as ``read(as:_:)``.
  func export(for reader: ExportReader) async throws -> AsyncThrowingStream<[UInt8], any Error> {
    let name = reader.name
    let account: ExportedAccount? = try await read(for: reader) { snapshot in
      let contacts = try contacts(of: name, snapshot)
      let sessions = try sessions(of: name, snapshot).map {
        SessionSummary($0, seenBy: reader.caller)
      }
      let devices: [ExportedAccount.Device] = try snapshot.all(
        "SELECT device_id, endpoint FROM msgr_devices WHERE username = ? ORDER BY bound_at", name
      ) { row in
        ExportedAccount.Device(
          DeviceID: String((try row[0] as DeviceID).text.utf8.prefix { $0 != UInt8(ascii: "/") })
            ?? "",
          Endpoint: try row[1])
      }
      let publishers: [(hash: TokenHash, name: String)] = try snapshot.all(
        "SELECT hash, name FROM msgr_publishers WHERE username = ? ORDER BY created_at", name
      ) { (try $0[0], try $0[1]) }
      let tokens = try publishers.map { publisher in
        ExportedAccount.PublisherToken(
          Name: publisher.name,
          To: try snapshot.values(
            "SELECT recipient FROM msgr_publisher_recipients WHERE hash = ? ORDER BY recipient",
            publisher.hash))
      }
      let wallets = try wallets(of: name, snapshot)
      let topics = try exportedTopics(of: name, snapshot)
      let waiting: [ExportedAccount.WaitingMessage] = try snapshot.all(
        "SELECT topic, text, due_at FROM msgr_topic_waiting WHERE account = ? ORDER BY due_at", name
      ) { row in
        let due: Timestamp = try row[2]
        return ExportedAccount.WaitingMessage(
          Topic: try row[0], Message: try row[1], Time: due.description)
      }
      return try snapshot.one("SELECT created_at FROM msgr_users WHERE username = ?", name) {
        ExportedAccount(
          Username: name.text, Created: (try $0[0] as Timestamp).description, Contacts: contacts,
          Sessions: sessions, Devices: devices, Tokens: tokens, Wallets: wallets, Topics: topics,
          Waiting: waiting)
      }
    }
    guard let account else { throw RequestRefusal.forbidden }
    var json = try JSONText.of(account)
    json.removeLast()
    let export = Export(self, reader, beginning: json + Array(#","Messages":["#.utf8))
    return AsyncThrowingStream { try await export.piece() }
  }

  /// Reads something of an account.
  fileprivate func read<Value: Sendable>(
    for reader: ExportReader, _ body: @escaping @Sendable (borrowing Snapshot) throws -> Value
  ) async throws -> Value {
    switch reader {
    case .user(let caller): try await read(as: caller, body)
    case .administrator: try await store.read(body)
    }
  }

  /// Returns the topics that an account owns, may use by name, or has subscribed to.
  private func exportedTopics(
    of name: UserName, _ snapshot: borrowing Snapshot
  ) throws -> [ExportedAccount.Topic] {
    let rows: [(topic: String, owner: UserName?, everyone: TopicLevel, isSubscribed: Int)] =
      try snapshot.all(
        """
        SELECT t.topic, t.owner, t.everyone,
          (SELECT count(*) FROM msgr_topic_subscriptions s
            WHERE s.topic = t.topic AND s.username = ?1)
        FROM msgr_topics t
        WHERE t.topic IN (
          SELECT topic FROM msgr_topics WHERE owner = ?1
          UNION SELECT topic FROM msgr_topic_access WHERE username = ?1
          UNION SELECT topic FROM msgr_topic_subscriptions WHERE username = ?1)
        ORDER BY t.topic
        """, name
      ) { (try $0[0], try $0[1], try $0[2], try $0[3]) }
    return try rows.map { row in
      let users: [(UserName, TopicLevel)] =
        row.owner == name
        ? try snapshot.all(
          "SELECT username, level FROM msgr_topic_access WHERE topic = ?", row.topic
        ) { (try $0[0], try $0[1]) }
        : []
      let named = Dictionary(users.map { ($0.0.text, $0.1) }, uniquingKeysWith: { $1 })
      return ExportedAccount.Topic(
        Topic: row.topic, Owner: row.owner?.text, Everyone: row.everyone,
        Users: row.owner == name ? named : nil, Subscribed: row.isSubscribed > 0)
    }
  }

  /// Returns the next messages of the topics that an account owns: of one topic after the other, oldest first.
  fileprivate func topicLog(
    of name: UserName, after position: Export.TopicPlace, _ snapshot: borrowing Snapshot
  ) throws -> BoundedPage<TopicEntry> {
    let next: TopicName?? = try snapshot.value(
      """
      SELECT min(t.topic) FROM msgr_topics t WHERE t.owner = ?1 AND t.topic >= ?2
        AND EXISTS (SELECT 1 FROM msgr_topic_entries e WHERE e.topic = t.topic
          AND (t.topic > ?2 OR e.number > ?3))
      """, name, position.topic, position.number)
    guard let topic = next ?? nil else { return BoundedPage() }
    let number = topic.text == position.topic ? position.number : .zero
    return try snapshot.page(
      """
      SELECT number, topic, id, event, time, expires_at, is_transient, sequence, text, parts,
        is_base64
      FROM msgr_topic_entries WHERE topic = ? AND number > ? ORDER BY number LIMIT 100
      """, topic, number, measuring: TopicStore.longColumns, transform: TopicStore.entry)
  }
}

/// An export that is under way.
private actor Export {
  /// A position in the messages of all topics of an account.
  struct TopicPlace {
    var topic = ""
    var number = TopicPosition.zero
  }

  /// The part that comes next.
  private enum Part {
    case messages(after: MsgrMessageID)
    case topics(after: TopicPlace)
    case end
  }

  private let store: MsgrStore
  private let reader: ExportReader
  private let owner = WorkOwner.current
  /// The text before the next page.
  private var beginning: [UInt8]
  private var part = Part.messages(after: .zero)
  /// True if the list that is written has an element.
  private var hasElements = false

  init(_ store: MsgrStore, _ reader: ExportReader, beginning: [UInt8]) {
    self.store = store
    self.reader = reader
    self.beginning = beginning
  }

  func piece() async throws -> [UInt8]? {
    var json = beginning
    beginning = []
    switch part {
    case .messages(let position):
      let page = try await read { [store, reader] snapshot in
        try store.log(of: reader.name, after: position, snapshot)
      }
      for message in page.entries { try append(message, to: &json) }
      if let last = page.entries.last {
        part = .messages(after: last.id)
      } else {
        part = .topics(after: TopicPlace())
        hasElements = false
        json += Array(#"],"TopicMessages":["#.utf8)
      }
    case .topics(let place):
      let page = try await read { [store, reader] snapshot in
        try store.topicLog(of: reader.name, after: place, snapshot)
      }
      for entry in page.entries where entry.event == .message {
        try append(TopicMessage(entry), to: &json)
      }
      if let last = page.entries.last {
        part = .topics(after: TopicPlace(topic: last.topic.text, number: last.number))
      } else {
        part = .end
        json += Array("]}".utf8)
      }
    case .end: return nil
    }
    return json
  }

  private func append(_ element: some Encodable, to json: inout [UInt8]) throws {
    if hasElements { json.append(UInt8(ascii: ",")) }
    hasElements = true
    json += try JSONText.of(element)
  }

  private func read<Page: Sendable>(
    _ body: @escaping @Sendable (borrowing Snapshot) throws -> Page
  ) async throws -> Page {
    try await WorkOwner.$current.withValue(owner) {
      try await store.read(for: reader, body)
    }
  }
}
