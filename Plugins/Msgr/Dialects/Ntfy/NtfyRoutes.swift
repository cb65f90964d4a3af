internal import Budgets
internal import Configuration
internal import Cryptography
internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Platform
internal import Routing
internal import ServiceKit
internal import Storage

/// The requests of ntfy's apps, command line and integrations: each is read, handed to the topics, and answered in ntfy's form.
struct NtfyRoutes: Sendable {
  static let healthy = #"{"healthy":true}"# + "\n"
  static let allowOrigin = FieldName("Access-Control-Allow-Origin")
  private static let allowMethods = FieldName("Access-Control-Allow-Methods")
  private static let allowHeaders = FieldName("Access-Control-Allow-Headers")
  private static let userAgent = FieldName("User-Agent")
  let topics: TopicService
  let log: Log

  private typealias Answer = @Sendable (Request, RouteParameters) async throws -> Response

  /// Registers all requests.
  func register(on router: inout Router) {
    router.upload(
      [.put, .post], "/{topic}", bodyLimit: topics.longestUpload
    ) { request, body, parameters in
      try await answering(request) { try await publish(request, body, parameters) }
    }
    router.upload(
      [.put, .post], "/{topic}/{sequence}", bodyLimit: topics.longestUpload
    ) { request, body, parameters in
      try await answering(request) {
        try await publish(request, body, parameters)
      }
    }
    on([.put, .post], "/", bodyLimit: topics.service.publishing.longestBody, &router) {
      request, _ in
      try await publishJSON(request)
    }
    for word in Self.publishingWords {
      on([.get], "/{topic}/\(word)", &router) { request, parameters in
        try Self.refuseHead(request)
        return try await publish(request, RequestBody(whole: []), parameters)
      }
    }
    on([.get], "/{topic}", &router) { try page($0, $1) }
    for name in ["app", "account", "settings", "signup"] {
      on([.get], "/\(name)", &router) { request, _ in try Self.webApp(request, "") }
      on([.put, .post], "/\(name)", &router) { _, _ in throw NtfyError.reservedTopic }
      on([.delete, .patch], "/\(name)", &router) { _, _ in throw NtfyError.reservedPath }
    }
    for (pattern, methods, allowed) in [
      ("/{topic}", [.delete, .patch], "GET, HEAD, OPTIONS, POST, PUT"),
      ("/{topic}/{sequence}", [.patch], "DELETE, GET, HEAD, OPTIONS, POST, PUT"),
    ] as [(String, [HTTPProtocol.Method], String)] {
      on(methods, pattern, &router) { _, parameters in
        _ = try NtfyReadRequest.topic(ofPath: parameters)
        var refusal = HTTPError(.methodNotAllowed)
        refusal.fields.append(.allow, allowed)
        throw refusal
      }
    }
    on([.get], "/{topic}/{sequence}", &router) { _, _ in throw NtfyError.notFound }
    // A slash at the end is no topic's.
    on(Self.methods, "/{topic}/", &router) { _, _ in throw NtfyError.notFound }
    for word in Self.clearingWords {
      on([.put, .get], "/{topic}/{sequence}/\(word)", &router) { request, parameters in
        try Self.refuseHead(request)
        return try await close(request, parameters, as: .clearing)
      }
    }
    on([.delete], "/{topic}/{sequence}", &router) { request, parameters in
      try await close(request, parameters, as: .deletion)
    }
    on([.get], "/{topics}/auth", &router) { try await auth($0, $1) }
    for (word, form) in [("json", NtfyStreamForm.json), ("sse", .sse), ("raw", .raw)] {
      router.stream("/{topics}/\(word)") { try await read($0, $1, form) }
    }
    router.webSocket("/{topics}/ws") { request, parameters in
      try await self.acceptStream(request, parameters)
    }
    registerFixed(on: &router)
    registerFiles(on: &router)
    registerMatrix(on: &router)
    registerOptions(on: &router)
  }

  private func registerFixed(on router: inout Router) {
    onV1(.get, "health", &router) { _, _ in Self.json(Array(Self.healthy.utf8)) }
    onV1(.get, "stats", &router) { request, _ in
      try topics.chargeReading(Self.anybody(from: request))
      return Self.json(
        .object([
          "messages": .integer(try await topics.statistics.storedMessages()),
          "messages_rate": .number(topics.statistics.rate),
        ]))
    }
    onV1(.get, "config", &router) { request, _ in
      Self.json(configuration(base: topics.baseURL(of: request)))
    }
    on([.get], "/config.js", &router) { request, _ in
      let script = "var config = \(configuration(base: topics.baseURL(of: request)).json);\n"
      return Response(.ok, type: "text/javascript; charset=utf-8", text: script)
    }
    onV1(.get, "version", &router) { request, _ in
      guard try await requester(request).caller.account != nil else { throw TopicRefusal.forbidden }
      return Self.json(
        .object([
          "version": .text(Product.version), "commit": .text(Product.commit),
          "date": .text(Self.date),
        ]))
    }
    onV1(.get, "account", &router) { request, _ in
      Self.json(try await account(of: try await requester(request)))
    }
    onV1(.post, "account/token", &router) { try await makeToken($0, $1) }
    on(Self.methods, "/v1/{rest...}", &router) { _, _ in throw NtfyError.notFound }
  }

  private static let methods: [HTTPProtocol.Method] = [.get, .put, .post, .delete, .patch]

  /// Registers a request below `/v1`, where any other method finds nothing.
  private func onV1(
    _ method: HTTPProtocol.Method, _ path: String, _ router: inout Router, _ act: @escaping Answer
  ) {
    on([method], "/v1/\(path)", &router, act)
    on(Self.methods.filter { $0 != method }, "/v1/\(path)", &router) { _, _ in
      throw NtfyError.notFound
    }
  }

  private static let publishingWords = ["publish", "send", "trigger"]
  private static let clearingWords = ["clear", "read"]
  private static let readingWords = ["auth", "json", "sse", "raw", "ws"]
  private static let fixedPaths = [
    "/", "/config.js", "/file/{name}", "/_matrix/push/v1/notify", "/v1/health", "/v1/stats",
    "/v1/config", "/v1/version", "/v1/account", "/v1/account/token", "/v1/{rest...}",
  ]

  /// Refuses `HEAD`, which a router takes for `GET`, where that does something.
  private static func refuseHead(_ request: Request) throws(NtfyError) {
    if request.head.method == .head { throw .notFound }
  }

  /// Answers browsers that ask whether a page may call.
  private func registerOptions(on router: inout Router) {
    // Each path of its own, as the most exact pattern counts for all methods.
    let patterns =
      Self.fixedPaths + ["/{topic}", "/{topic}/", "/{topic}/{word}", "/{topic}/{sequence}/{word}"]
      + Self.publishingWords.map { "/{topic}/\($0)" } + Self.readingWords.map { "/{topics}/\($0)" }
      + Self.clearingWords.map { "/{topic}/{sequence}/\($0)" }
    for pattern in patterns {
      router.on([.options], pattern) { [hasCORS = topics.configuration.hasCORS] _, _ in
        var response = Response(.ok)
        guard hasCORS else { return response }
        response.fields.append(Self.allowOrigin, "*")
        response.fields.append(Self.allowMethods, "GET, PUT, POST, PATCH, DELETE")
        response.fields.append(Self.allowHeaders, "*, Authorization")
        return response
      }
    }
  }

  /// Registers a request whose errors have ntfy's form.
  private func on(
    _ methods: [HTTPProtocol.Method], _ pattern: String, bodyLimit: Int? = nil,
    _ router: inout Router, _ act: @escaping Answer
  ) {
    router.on(methods, pattern, bodyLimit: bodyLimit) { request, parameters in
      try await answering(request) { try await act(request, parameters) }
    }
  }

  /// Makes a response, or the one of a failure.
  private func answering(
    _ request: Request, _ act: () async throws -> Response
  ) async throws -> Response {
    do {
      let owner = WorkOwner(client: request.origin.client)
      return shared(try await WorkOwner.$current.withValue(owner) { try await act() })
    } catch { return try refusal(of: request, error) }
  }

  /// Makes the response to a request that failed, or throws what is no client's error.
  private func refusal(of request: Request, _ error: any Error) throws -> Response {
    guard let failure = NtfyError(refusing: error) else { throw error }
    // A person who has mistyped an address gets the page that leads to the front door.
    if failure.code == NtfyError.notFound.code, request.head.isForPage {
      throw HTTPError(.notFound)
    }
    return shared(failure.answering(request.head).response)
  }

  /// Lets pages of any origin read a response, as it needs no cookies.
  private func shared(_ response: Response) -> Response {
    guard topics.configuration.hasCORS else { return response }
    var shared = response
    shared.fields.append(Self.allowOrigin, "*")
    return shared
  }

  static func json(_ value: JSONValue) -> Response { json(value.bytes) }

  static func json(_ bytes: [UInt8]) -> Response {
    var response = Response(.ok, body: .array(bytes))
    response.fields.append(.contentType, "application/json")
    response.fields.append(.cacheControl, "no-store")
    return response
  }

  // MARK: - Who asks

  /// Finds out who asks: by `Authorization`, or by `auth` in the query, which has the whole field's value in base64url.
  func requester(_ request: Request) async throws -> TopicRequester {
    try await topics.requester(Self.credentials(request.head), from: request.origin.client)
  }

  /// Finds out who publishes.
  private func publisher(_ request: Request) async throws -> TopicRequester {
    try await topics.publisher(Self.credentials(request.head), from: request.origin.client)
  }

  private static func credentials(_ head: RequestHead) -> GivenCredentials {
    if let field = head.first(.authorization) { return GivenCredentials(authorization: field) }
    let pairs = head.query.map { URLEncodedForm(lenient: $0).pairs } ?? []
    let names = ["auth", "authorization"]
    guard let text = pairs.first(where: { names.contains($0.name.lowercased()) })?.value,
      !text.isEmpty
    else { return .nothing }
    guard let value = Base64URL.decode(text) else { return .malformed }
    return GivenCredentials(authorization: value)
  }

  // MARK: - Publishing

  private func publish(
    _ request: Request, _ body: RequestBody, _ parameters: RouteParameters
  ) async throws -> Response {
    let first = parameters.text("topic") ?? ""
    // Who publishes at a name that is ntfy's own can mean nothing but a topic.
    if parameters["sequence"].isEmpty, ReservedTopics.ntfy.contains(first) {
      throw NtfyError.reservedTopic
    }
    let name = try NtfyReadRequest.topic(ofPath: first)
    let requester = try await publisher(request)
    try topics.chargePublishing(requester)
    let longest = topics.service.publishing.messageBytes
    var slot: TopicSlot?
    defer { slot?.leave() }
    let (start, isWhole) = try await Self.beginning(of: body, atLeast: longest + 1) {
      if slot == nil { slot = try topics.uploadSlot(for: requester) }
    }
    var publication = NtfyPublishRequest(
      request.head, body: start, isWhole: isWhole, upTo: longest)
    if let sequence = parameters.text("sequence"), !sequence.isEmpty {
      publication.fields.sequence = sequence
    }
    if publication.body == .unifiedPush {
      guard isWhole else { throw NtfyError.tooLarge }
      return try await publishUnifiedPush(start, to: name, by: requester)
    }
    let length: Int? = if case .length(let length) = request.head.framing { length } else { nil }
    let published = try await topics.publish(
      publication.fields, file: publication.fileName, beginning: start, body, length: length,
      to: name, by: requester, base: topics.baseURL(of: request), hasText: publication.hasText)
    return Self.line(NtfyMessage.json(of: published.entry, notes: published.notes))
  }

  /// The bytes of a body that is held without a place for uploads: those of most messages.
  private static let freeBytes = 16 << 10

  /// Reads the beginning of a body.
  ///
  /// - Parameter takePlace: called when more than a little is held.
  /// - Returns: so many bytes at least, or the whole body, and whether it is that.
  private static func beginning(
    of body: RequestBody, atLeast count: Int, _ takePlace: () throws -> Void
  ) async throws -> (bytes: [UInt8], isWhole: Bool) {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard let piece = try await body.next() else { return (bytes, true) }
      bytes += piece
      if bytes.count > freeBytes { try takePlace() }
    }
    return (bytes, false)
  }

  private func publishJSON(_ request: Request) async throws -> Response {
    guard let json = PublicationReader.json(of: request)?.foldingNames, json.members != nil else {
      throw NtfyError.badJSON
    }
    let name = try NtfyReadRequest.topic(json["topic"]?.string ?? "")
    let requester = try await publisher(request)
    try topics.chargePublishing(requester)
    let publication = NtfyPublishRequest(json, request.head)
    let published = try await topics.publish(
      publication.fields, file: nil, beginning: [], RequestBody(whole: []), length: nil, to: name,
      by: requester, base: topics.baseURL(of: request), hasText: true)
    return Self.line(NtfyMessage.json(of: published.entry, notes: published.notes))
  }

  private func publishUnifiedPush(
    _ body: [UInt8], to name: TopicName, by requester: TopicRequester
  ) async throws -> Response {
    guard body.count <= NtfyPublishRequest.longestUnifiedPush else { throw NtfyError.tooLarge }
    let entry = try await topics.publish(unifiedPush: body, to: name, by: requester)
    return Self.line(NtfyMessage.json(of: entry))
  }

  private static func line(_ json: String) -> Response { Self.json(Array("\(json)\n".utf8)) }

  private func close(
    _ request: Request, _ parameters: RouteParameters, as event: TopicEvent
  ) async throws -> Response {
    let name = try NtfyReadRequest.topic(ofPath: parameters)
    let sequence = parameters.text("sequence") ?? ""
    guard PublicationFields.isSequence(sequence) else { throw NtfyError.badRequest }
    let requester = try await publisher(request)
    try topics.chargePublishing(requester)
    let entry = try await topics.close(sequence, of: name, as: event, by: requester)
    return Self.line(NtfyMessage.json(of: entry))
  }

  /// Sends a browser to the web app's page of a topic, and confirms to UnifiedPush's programs that they may push here.
  private func page(_ request: Request, _ parameters: RouteParameters) throws -> Response {
    if PublishingParameters(request.head).isTrue(.unifiedPush) {
      return Self.json(.object(["unifiedpush": .object(["version": .integer(1)])]))
    }
    guard let name = TopicName(parameters.text("topic") ?? "") else { throw NtfyError.notFound }
    // The web app names a topic's conversation with a number sign, percent-encoded as all names there are.
    return try Self.webApp(request, "#%23\(name.text)")
  }

  /// Sends a browser to a view of the web app.
  private static func webApp(_ request: Request, _ view: String) throws(NtfyError) -> Response {
    guard request.head.value(.accept)?.contains("text/html") ?? false else { throw .notFound }
    var response = Response(.seeOther)
    response.fields.append(.location, "\(MsgrRoutes.prefix)/\(view)")
    return response
  }

  // MARK: - Reading

  private func auth(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let names = try NtfyReadRequest.topics(parameters.text("topics") ?? "")
    try await topics.mayRead(names, by: try await requester(request))
    return Self.json(.object(["success": .truth(true)]))
  }

  private func read(
    _ request: Request, _ parameters: RouteParameters, _ form: NtfyStreamForm
  ) async throws -> StreamDecision {
    do {
      let owner = WorkOwner(client: request.origin.client)
      return try await WorkOwner.$current.withValue(owner) {
        try await decision(request, parameters, form)
      }
    } catch { return .respond(try refusal(of: request, error)) }
  }

  private func decision(
    _ request: Request, _ parameters: RouteParameters, _ form: NtfyStreamForm
  ) async throws -> StreamDecision {
    let reading = try NtfyReadRequest(
      parameters.text("topics") ?? "", request.head, now: topics.now)
    let requester = try await requester(request)
    let encoder = NtfyStreamEncoder(reading, form: form, agent: request.head.value(Self.userAgent))
    if reading.isPoll || reading.filter.id != nil {
      let poll = try await topics.poll(
        reading.topics, since: reading.since, reading.filter, withWaiting: reading.withWaiting,
        by: requester)
      return .respond(
        readResponse(in: form, body: try await Self.body(of: poll, encoder)))
    }
    let start = try await topics.open(
      reading.topics, since: reading.since, reading.filter, withWaiting: reading.withWaiting,
      by: requester)
    var head = readResponse(in: form, body: .none)
    head.fields.append(FieldName("X-Accel-Buffering"), "no")
    return .open(
      ResponseStreamOpening(head) { [topics] output in
        NtfyBody(output, start, encoder, topics)
      })
  }

  private func readResponse(in form: NtfyStreamForm, body: Response.Body) -> Response {
    var response = Response(.ok, body: body)
    if let type = form.contentType { response.fields.append(.contentType, type) }
    response.fields.append(.cacheControl, "no-store")
    return shared(response)
  }

  /// Returns a poll's entries, made as the client takes them if they are many.
  private static func body(
    of poll: TopicPoll, _ encoder: NtfyStreamEncoder
  ) async throws -> Response.Body {
    try await .reading {
      while true {
        let page = try await poll.next()
        let bytes = page.entries.flatMap(encoder.bytes)
        // A filter may leave nothing of a page.
        guard page.ends != nil || !bytes.isEmpty else { continue }
        return BodyPiece(bytes: bytes, isLast: page.ends != nil)
      }
    }
  }

  private func acceptStream(
    _ request: Request, _ parameters: RouteParameters
  ) async throws -> WebSocketAcceptance {
    do {
      let reading = try NtfyReadRequest(
        parameters.text("topics") ?? "", request.head, now: topics.now)
      let requester = try await requester(request)
      let encoder = NtfyStreamEncoder(
        reading, form: .webSocket, agent: request.head.value(Self.userAgent))
      var acceptance = try await acceptance(of: reading, by: requester, encoder)
      acceptance.limits.pingInterval = topics.configuration.keepalive
      acceptance.limits.maximumMessage = 4096
      return acceptance
    } catch {
      guard let failure = NtfyError(refusing: error) else { throw error }
      throw HTTPError(beforeStream: failure)
    }
  }

  private func acceptance(
    of reading: NtfyReadRequest, by requester: TopicRequester, _ encoder: NtfyStreamEncoder
  ) async throws -> WebSocketAcceptance {
    if reading.isPoll || reading.filter.id != nil {
      let slot = try topics.streamSlot(for: requester)
      let poll = try await topics.poll(
        reading.topics, since: reading.since, reading.filter, withWaiting: reading.withWaiting,
        by: requester)
      return WebSocketAcceptance { [topics] session in
        NtfyPollSocket(session, poll, encoder, topics, slot)
      }
    }
    let start = try await topics.open(
      reading.topics, since: reading.since, reading.filter, withWaiting: reading.withWaiting,
      by: requester)
    return WebSocketAcceptance { [topics] session in
      NtfySocket(session, start, encoder, topics)
    }
  }

  // MARK: - Accounts

  /// The date of the program, which clients read as a moment even where it isn't known.
  private static let date =
    Product.date.first?.isNumber ?? false ? Product.date : "1970-01-01T00:00:00Z"

  /// A requester of what needs no account.
  private static func anybody(from request: Request) -> TopicRequester {
    TopicRequester(
      caller: .nobody, credential: .nothing, site: request.origin.client.map { "\($0)" })
  }

  /// Returns what an account, or an address without one, may do and has done: some clients need all of the numbers.
  private func account(of requester: TopicRequester) async throws -> JSONValue {
    try topics.chargeReading(requester)
    let name = requester.caller.account
    let limits = topics.configuration
    let isOpen = name == nil
    let age = isOpen ? limits.openAge : limits.age
    let fileAge = isOpen ? limits.openAttachmentAge : limits.attachmentAge
    let messages = Int(86_400_000 / max(1, limits.publishing.refill.milliseconds))
    let sent = topics.statistics.messages(of: requester.limitKey)
    let room = isOpen ? limits.attachmentsPerAddress : limits.attachmentsPerAccount
    let kept = try await topics.store.fileBytes(of: requester)
    return .object([
      "username": .text(name?.text ?? "*"),
      "role": .text(isOpen ? "anonymous" : "user"),
      "limits": .object([
        "basis": .text("ip"),
        "messages": .integer(messages),
        "messages_expiry_duration": .integer(age.milliseconds / 1000),
        "emails": .integer(0),
        "calls": .integer(0),
        "reservations": .integer(0),
        "attachment_total_size": .integer(room),
        "attachment_file_size": .integer(limits.attachmentBytes),
        "attachment_expiry_duration": .integer(fileAge.milliseconds / 1000),
        "attachment_bandwidth": .integer(limits.bandwidth),
      ]),
      "stats": .object([
        "messages": .integer(sent),
        "messages_remaining": .integer(max(0, messages - sent)),
        "emails": .integer(0),
        "emails_remaining": .integer(0),
        "calls": .integer(0),
        "calls_remaining": .integer(0),
        "reservations": .integer(0),
        "reservations_remaining": .integer(0),
        "attachment_total_size": .integer(kept),
        "attachment_total_size_remaining": .integer(max(0, room - kept)),
      ]),
    ])
  }

  private func makeToken(_ request: Request, _ parameters: RouteParameters) async throws -> Response
  {
    let requester = try await requester(request)
    guard case .account(let name) = requester.caller else { throw TopicRefusal.forbidden }
    let json = request.body.isEmpty ? nil : PublicationReader.json(of: request)
    guard request.body.isEmpty || json?.members != nil else { throw NtfyError.badJSON }
    let label = json?["label"]?.string ?? ""
    let expires = json?["expires"]?.integer ?? 0
    let lifetime = expires > 0 ? Duration.seconds(max(1, expires - topics.now.seconds)) : nil
    let token = BearerToken(.ntfy, randomBytes: topics.service.randomBytes)
    let suffix = RandomText.make(4, randomBytes: topics.service.randomBytes)
    let base = PlainText.line(label).filter { $0 != "/" }
    var new = NewPublisher(name: base.isEmpty ? "ntfy-\(suffix)" : "\(base.prefix(40))-\(suffix)")
    new.topics = .all
    new.reads = true
    new.lifetime = lifetime
    try await topics.service.store.addPublisher(new, of: name, token.hash) { [topics] transaction in
      try topics.store.requireGood(requester.credential, transaction)
    }
    return Self.json(
      .object([
        "token": .text(token.text), "label": .text(label), "expires": .integer(expires),
        "last_access": .integer(topics.now.seconds),
      ]))
  }

  private func configuration(base: String) -> JSONValue {
    .object([
      "base_url": .text(base),
      "app_root": .text("/msgr/"),
      "enable_login": .truth(true),
      "require_login": .truth(false),
      "enable_signup": .truth(false),
      "enable_payments": .truth(false),
      "enable_calls": .truth(false),
      "enable_emails": .truth(false),
      "enable_reservations": .truth(false),
      "enable_web_push": .truth(false),
      "billing_contact": .text(""),
      "web_push_public_key": .text(""),
      "disallowed_topics": .list(ReservedTopics.names.sorted().map { .text($0) }),
    ])
  }
}

extension NtfyPublishRequest {
  /// The name of the file that the body is; nil if it is none.
  var fileName: String? {
    if case .file(let name) = body { name } else { nil }
  }
}

extension HTTPError {
  /// The refusal of a stream before it has begun.
  fileprivate init(beforeStream failure: NtfyError) {
    self.init(failure.status, failure.text)
    members["code"] = "\(failure.code)"
    if let seconds = failure.retryAfter { fields.append(.retryAfter, "\(seconds)") }
  }
}
