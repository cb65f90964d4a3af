internal import Budgets
internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol
internal import HTTPServer
internal import Routing

/// The limits of publishing, and what has been used of them on this node.
struct PublishingLimits: Sendable {
  /// The longest text, in bytes.
  let messageBytes: Int
  /// The longest body of an object or a form with a text, in bytes: a character of two bytes may be escaped by six, and there
  /// are other members.
  var longestBody: Int { 3 * messageBytes + (64 << 10) }
  /// How often a token publishes.
  let rate: RefillTable.Rate
  let used: RefillTable
}

extension MessageService {
  /// Makes a token that can do nothing but publish.
  func makePublisher(
    _ new: NewPublisher, form: BearerToken.Form, by credentials: RequestCredentials
  ) async throws -> BearerToken {
    let token = BearerToken(form, randomBytes: randomBytes)
    try await authenticator.perform(as: credentials) { caller in
      try await countingRefusals(of: caller) {
        try await store.addPublisher(new, of: caller, token.hash)
      }
    }
    return token
  }

  /// Finds the publisher of a token. A wrong one counts as a failed login of the client's network.
  ///
  /// - Returns: the publisher, and those whom it may send to.
  func publisher(
    showing token: TokenHash?, from network: ClientNetwork?
  ) async throws -> (publisher: PublisherToken, recipients: [UserName]) {
    guard let token else { throw RequestRefusal.forbidden }
    return try await passwords.countingToken(from: network) {
      guard let found = try await store.publisher(token) else { throw RequestRefusal.forbidden }
      return found
    }
  }

  /// Publishes a message to inboxes.
  ///
  /// - Parameter clientID: the client's own name for the message, by which a retry is known.
  func publish(
    _ publication: Publication, by publisher: PublisherToken, to recipients: [UserName],
    as clientID: ClientID? = nil
  ) async throws -> PublishedID {
    guard !recipients.isEmpty else { throw RequestRefusal.forbidden }
    try chargePublication(by: publisher, copies: recipients.count)
    try await refuseWithoutRoom(
      for: publication.text.text.utf8.count, of: publisher.owner, to: recipients)
    let (receipts, first) = try await store.publish(
      publication, by: publisher, to: recipients, as: clientID)
    for receipt in receipts { publishEffects(receipt) }
    return first
  }

  /// Counts a message by its publisher, and its copies by the publisher's owner.
  private func chargePublication(
    by publisher: PublisherToken, copies: Int
  ) throws(RequestRefusal) {
    if let wait = publishing.used.use(publisher.hash, at: publishing.rate) {
      throw .tooMany(retryAfter: wait)
    }
    if let wait = sent.count(publisher.owner, amount: copies, upTo: messagesPerMinute) {
      throw .tooMany(retryAfter: wait)
    }
  }

  /// Validates what a program gave.
  func validated(_ fields: PublicationFields) throws(FieldError) -> Publication {
    try fields.publication(upTo: publishing.messageBytes) { count in
      RandomText.make(count, randomBytes: randomBytes)
    }
  }
}

extension NewPublisher {
  /// Reads the fields of a publisher.
  init(_ fields: FieldValues) throws(FieldError) {
    name = try fields.publisherName()
    recipients = try fields.names(.to, atMost: MsgrStore.publisherRecipients)
    reads = try fields.truth(.read)
    guard let names = try fields.list(.topics, atMost: MsgrStore.publisherTopics) else { return }
    guard names != ["*"] else {
      topics = .all
      return
    }
    guard names.allSatisfy({ TopicName($0) != nil }) else {
      throw FieldError(.topics, "has a name that no topic can have")
    }
    topics = .only(Set(names))
  }
}

extension FieldValues {
  /// Returns the form of a publisher's token.
  func tokenForm() throws(FieldError) -> BearerToken.Form {
    guard has(.form) else { return .ntfy }
    switch try text(.form) {
    case "ntfy": return .ntfy
    case "gotify": return .gotify
    default: throw FieldError(.form, "is neither ntfy nor gotify")
    }
  }
}

extension MsgrRoutes {
  private static let userAgent = FieldName("User-Agent")

  /// Registers the requests of programs that publish.
  func registerPublishing(on router: inout Router) {
    registerFields("/tokens", on: &router) { call in
      let token = try await service.makePublisher(
        try NewPublisher(call.fields), form: try call.fields.tokenForm(),
        by: try call.credentials())
      return ["Token": token.text]
    }
    registerUpload("/publish", on: &router) { request, body, _ in
      try await publish(request, body, to: nil)
    }
    registerUpload("/publish/{name}", on: &router) { request, body, parameters in
      try await publish(request, body, to: parameters.text("name") ?? "")
    }
  }

  private var upload: InboxUpload { InboxUpload(topics: topics, longestText: bodyLimit) }

  /// Registers a request of a program that publishes, with a file that may be long.
  private func registerUpload(
    _ path: String, on router: inout Router,
    _ act: @escaping @Sendable (Request, RequestBody, RouteParameters) async throws -> [UInt8]
  ) {
    let upload = upload
    for prefix in ["", Self.prefix] {
      router.upload(
        [.post, .put, .get], "\(prefix)\(path)", bodyLimit: upload.longest,
        if: upload.comesInParts
      ) { request, body, parameters in
        // A link checker that only looks publishes nothing.
        guard request.head.method != .head else { throw HTTPError(.notFound) }
        return try await answering(request) {
          Self.response(.array(try await act(request, body, parameters)))
        }
      }
      registerPreflight("\(prefix)\(path)", on: &router)
    }
  }

  /// Publishes a message.
  ///
  /// - Parameters:
  ///   - request: the token that may send the message.
  ///   - body: the message.
  ///   - name: the only recipient, or nil for all of the token's.
  private func publish(
    _ request: Request, _ body: RequestBody, to name: String?
  ) async throws -> [UInt8] {
    let network = request.origin.client
    let (publisher, all) = try await self.publisher(request)
    let only = try name.map { name throws(FieldError) in try UserName(name, in: .to) }
    let recipients = all.filter { only == nil || only == $0 }
    // Before a file is received that nobody would get.
    guard !recipients.isEmpty else { throw RequestRefusal.denied(.notARecipient) }
    let requester = TopicRequester(
      caller: .publisher(publisher), credential: .publisher(publisher.hash),
      site: network.map { "\($0)" })
    let reading = try await upload.read(request, body, by: requester)
    do {
      let answer = try await publish(
        reading, by: publisher, to: recipients, base: topics.baseURL(of: request))
      // The first one's message has the file already.
      if answer.id.isRetry { await upload.discard(reading.file?.outcome) }
      return answer.json
    } catch {
      await upload.discard(reading.file?.outcome)
      guard case RequestRefusal.tooMany(let seconds) = error, Self.givesUpTooSoon(request.head)
      else { throw error }
      throw HTTPError(.serviceUnavailable, "too many messages at once", retryAfter: seconds)
    }
  }

  /// Finds the publisher whose token a request shows.
  private func publisher(
    _ request: Request
  ) async throws -> (publisher: PublisherToken, recipients: [UserName]) {
    do {
      return try await service.publisher(
        showing: Self.publisherToken(request.head), from: request.origin.client)
    } catch RequestRefusal.forbidden { throw RequestRefusal.denied(.noPublisherToken) }
  }

  private func publish(
    _ reading: InboxUpload.Reading, by publisher: PublisherToken, to recipients: [UserName],
    base: String
  ) async throws -> PublishedAnswer {
    var fields = reading.publication.fields
    if fields.delay != nil {
      fields.notes.append("Delay was ignored: it is for topics only")
    }
    var attachment: MessageAttachment?
    switch reading.file?.outcome {
    case .kept(let file):
      if !fields.hasMessage { fields.message = PublicationFields.received(file.fileName) }
      try await topics.store.keep(file.name)
      attachment = topics.attachment(file, isOpen: false, from: topics.now, base: base)
    case .refused(let refusal):
      let name = reading.file?.name ?? ""
      guard fields.hasText else { throw HTTPError(refusing: refusal, of: name) }
      fields.record(refusal, of: name)
    case nil: fields.nameAttachment()
    }
    var publication = try service.validated(fields)
    if let attachment { publication.parts.attachment = attachment }
    let id = try await service.publish(
      publication, by: publisher, to: recipients,
      as: try reading.publication.clientID.map { text throws(FieldError) in try ClientID(text) })
    return PublishedAnswer(id: id, notes: publication.notes)
  }

  /// Returns whether a program gives a message up for good when it learns that it sends too often.
  static func givesUpTooSoon(_ head: RequestHead) -> Bool {
    head.value(userAgent)?.hasPrefix("Alertmanager/") ?? false
  }

  /// Finds a publisher's token: as bearer token, as password without a user, or as Gotify's clients send it.
  ///
  /// - Returns: nil if there is none.
  static func publisherToken(_ head: RequestHead) -> TokenHash? {
    gotifyToken(head)
      ?? head.first(.authorization).flatMap {
        BearerToken.hash(inAuthorization: $0) ?? basicToken($0)
      }
  }

  /// Finds a token where only Gotify's clients put it: in the query, or in a field of their own.
  static func gotifyToken(_ head: RequestHead) -> TokenHash? {
    GotifyRoutes.ownToken(head).map { BearerToken.hash(ofText: Array($0.utf8)) }
  }

  /// Reads the credentials of the scheme Basic (RFC 7617) with an empty user.
  private static func basicToken(_ field: ArraySlice<UInt8>) -> TokenHash? {
    guard let basic = BasicCredentials(field), basic.user.isEmpty else { return nil }
    return BearerToken.hash(ofText: Array(basic.password.utf8))
  }
}

/// The credentials of the scheme Basic (RFC 7617).
struct BasicCredentials: Sendable {
  let user: String
  let password: String

  /// Reads an `Authorization` field; nil for another scheme, and for what is malformed.
  init?(_ field: some Collection<UInt8>) {
    let text = String(decoding: field, as: UTF8.self)
    guard text.lowercased().hasPrefix("basic "),
      let data = Data(base64Encoded: text.dropFirst("basic ".count).trimmingBlanks),
      let colon = data.firstIndex(of: UInt8(ascii: ":")),
      let user = String(validating: data[..<colon], as: UTF8.self),
      let password = String(validating: data[(colon + 1)...], as: UTF8.self)
    else { return nil }
    self.user = user
    self.password = password
  }
}

/// The response to a publication.
private struct PublishedAnswer: Sendable {
  let id: PublishedID
  let notes: [String]

  var json: [UInt8] {
    let notes: JSONValue? = notes.isEmpty ? nil : .list(notes.map { .text($0) })
    return JSONValue.object(["Id": .text(id.id.text), "Notes": notes]).bytes
  }
}

extension HTTPError {
  /// Makes the response to a request that has nothing but a file, which isn't kept.
  fileprivate init(refusing refusal: UploadRefusal, of name: String) {
    self.init(refusing: refusal.ofRequest)
    message = refusal.sentence(about: PublicationFields.fileName(name) ?? "attachment")
    let code: JSONValue? = status == .contentTooLarge ? .integer(NtfyError.tooLarge.code) : nil
    json = JSONValue.object(["error": .text(message), "code": code]).bytes
  }
}
