internal import MsgrResources
internal import Cryptography
internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import Routing
internal import ServiceKit
internal import Storage

/// The requests of Gotify's app, command line and integrations: each is read, handed to the service, and answered in Gotify's
/// form.
struct GotifyRoutes: Sendable {
  private static let defaultLimit = 100
  private static let limits = 1...200
  private static let longestName = 64
  private static let key = FieldName("X-Gotify-Key")

  let service: MessageService
  let topics: TopicService
  let streamPing: Duration
  /// The largest body of other requests, in bytes.
  let ordinaryBodyLimit: Int

  /// The largest body of a message: what is over its own limit is cut.
  var bodyLimit: Int { max(ordinaryBodyLimit, service.publishing.longestBody) }

  private typealias Answer = @Sendable (Request, RouteParameters) async throws -> Response

  /// The account that requests, and the client by whose token, if by one.
  private struct GotifyCaller: Sendable {
    let account: UserName
    let credential: TopicCredential
    /// The client's token as it was shown.
    let token: String?
    var hash: TokenHash? { token.map { BearerToken.hash(ofText: Array($0.utf8)) } }
  }

  /// Registers all requests but those that Msgr has at the same path.
  ///
  /// - Parameter isAlone: whether Msgr's own requests are at other hosts, so that these are Gotify's alone.
  func register(on router: inout Router, isAlone: Bool) {
    for prefix in ["", MsgrRoutes.prefix] where prefix.isEmpty || !isAlone {
      on([.get], "\(prefix)/health", &router) { _, _ in
        Self.json(.object(["health": .text("green"), "database": .text("green")]))
      }
      on([.get], "\(prefix)/gotifyinfo", &router) { _, _ in
        Self.json(
          .object([
            "version": .text(Product.version), "oidc": .truth(false), "register": .truth(false),
          ]))
      }
      on([.get], "\(prefix)/current/user", &router) { request, _ in try await user(request) }
      on([.get], "\(prefix)/plugin", &router) { request, _ in
        _ = try await caller(request)
        return Self.json(.list([]))
      }
      router.get("\(prefix)/\(GotifyMessage.icon)") { _, _ in
        var response = Response(.ok, body: .array(Resource(msgr_icon_192_png()).bytes))
        response.fields.append(.contentType, "image/png")
        response.fields.append(.cacheControl, "public, max-age=86400")
        return response
      }
      registerClients(prefix, on: &router)
      registerApplications(prefix, on: &router)
      registerMessages(prefix, on: &router)
    }
    on([.get], "\(MsgrRoutes.prefix)/version", &router) { _, _ in Self.json(Self.version) }
    for pattern in ["/user", "/auth/{rest...}", "/image/{rest...}"] {
      on([.get, .post, .put, .delete], pattern, &router) { _, _ in throw GotifyError.notFound }
    }
    guard isAlone else { return }
    on([.post], "/message", bodyLimit: bodyLimit, &router) { request, _ in
      try await publish(request)
    }
    router.webSocket("/stream") { request, _ in try await acceptStream(request) }
  }

  static let version = JSONValue.object([
    "name": .text(Product.name), "version": .text(Product.version),
    "commit": .text(Product.commit), "buildDate": .text(Product.date),
  ])

  /// Registers a request whose errors have Gotify's form.
  private func on(
    _ methods: [HTTPProtocol.Method], _ pattern: String, bodyLimit: Int? = nil,
    _ router: inout Router, _ act: @escaping Answer
  ) {
    router.on(methods, pattern, bodyLimit: bodyLimit) { request, parameters in
      try await answering(request) { try await act(request, parameters) }
    }
  }

  /// Makes a response, or the one of a failure.
  func answering(
    _ request: Request, _ act: () async throws -> Response
  ) async throws -> Response {
    do {
      return try await WorkOwner.$current.withValue(WorkOwner(client: request.origin.client)) {
        try await act()
      }
    } catch {
      guard var failure = GotifyError(refusing: error) else { throw error }
      if failure.status == .tooManyRequests, MsgrRoutes.givesUpTooSoon(request.head) {
        failure.status = .serviceUnavailable
      }
      return failure.response
    }
  }

  private static func json(_ value: JSONValue) -> Response { json(.array(value.bytes)) }

  private static func json(_ body: Response.Body) -> Response {
    var response = Response(.ok, body: body)
    response.fields.append(.contentType, "application/json")
    response.fields.append(.cacheControl, "no-store")
    return response
  }

  // MARK: - Who asks

  /// Finds a token where only Gotify's clients put it: in the query, or in a field of their own. An empty one is none.
  static func ownToken(_ head: RequestHead) -> String? {
    let inQuery = head.query.flatMap { URLEncodedForm(lenient: $0)["token"] }
    return [inQuery, head.value(key)].lazy.compactMap(\.self).first { !$0.isEmpty }
  }

  /// Finds the token of a request, in the order in which they count: query, field of its own, bearer.
  static func token(_ head: RequestHead) -> String? {
    if let token = ownToken(head) { return token }
    guard let field = head.value(.authorization), field.lowercased().hasPrefix("bearer ") else {
      return nil
    }
    return field.dropFirst("bearer ".count).trimmingBlanks
  }

  /// Finds the token that a program publishes with, which may also be the password of the scheme Basic.
  private static func shownToken(_ head: RequestHead) -> TokenHash? {
    if let token = token(head) { return BearerToken.hash(ofText: Array(token.utf8)) }
    guard let field = head.first(.authorization) else { return nil }
    return switch GivenCredentials(authorization: field) {
    case .nothing, .malformed: nil
    case .token(let hash): hash
    case .account(_, let secret): BearerToken.hash(ofText: Array(secret.utf8))
    }
  }

  /// Finds out who asks: a client by its token, or an account by name and password.
  private func caller(_ request: Request) async throws -> GotifyCaller {
    let network = request.origin.client
    if let token = Self.token(request.head) {
      let requester = try await topics.requester(
        .token(BearerToken.hash(ofText: Array(token.utf8))), from: network)
      guard case .account(let name) = requester.caller else { throw GotifyError.unauthorized }
      try topics.chargeReading(requester)
      return GotifyCaller(account: name, credential: requester.credential, token: token)
    }
    guard let field = request.head.first(.authorization) else { throw GotifyError.unauthorized }
    let requester = try await topics.requester(
      GivenCredentials(authorization: field), from: network)
    guard case .account(let name) = requester.caller else { throw GotifyError.unauthorized }
    try topics.chargeReading(requester)
    return GotifyCaller(account: name, credential: requester.credential, token: nil)
  }

  private func user(_ request: Request) async throws -> Response {
    let account = try await caller(request).account
    guard let created = try await service.store.created(account) else {
      throw GotifyError.unauthorized
    }
    return Self.json(
      .object([
        "id": .integer(PublishingApplication.number(of: account.text)),
        "name": .text(account.text), "admin": .truth(false),
        "createdAt": .text(created.description),
      ]))
  }

  // MARK: - Clients

  private func registerClients(_ prefix: String, on router: inout Router) {
    on([.get], "\(prefix)/client", &router) { request, _ in
      let clients = try await service.store.gotifyClients(of: try await caller(request).account)
      return Self.json(.list(clients.map { GotifyMessage.json(of: $0, token: nil) }))
    }
    on([.post], "\(prefix)/client", &router) { request, _ in
      let caller = try await caller(request)
      let name = try Self.name(in: try Self.object(request))
      let token = BearerToken(.gotifyClient, randomBytes: service.randomBytes)
      let device = DeviceID(
        stored: DeviceID.gotifyPrefix + RandomText.make(16, randomBytes: service.randomBytes))
      service.end(
        try await service.store.addGotifyClient(
          named: name, of: caller.account, device: device, token.hash
        ) { [topics] transaction in try topics.store.requireGood(caller.credential, transaction) })
      let now = service.store.now
      let session = Session(
        token: token.hash, device: device, deviceName: name, created: now, used: now, kind: .gotify)
      return Self.json(GotifyMessage.json(of: session, token: token.text))
    }
    on([.put], "\(prefix)/client/{id}", &router) { request, parameters in
      let session = try await session(request, parameters)
      let name = try Self.name(in: try Self.object(request))
      try await service.store.rename(session, to: name)
      let renamed = Session(
        token: session.token, device: session.device, deviceName: name, created: session.created,
        used: session.used, kind: session.kind)
      return Self.json(GotifyMessage.json(of: renamed, token: nil))
    }
    on([.delete], "\(prefix)/client/{id}", &router) { request, parameters in
      service.end(try await service.store.end(try await session(request, parameters)))
      return Response(.ok)
    }
  }

  private func session(_ request: Request, _ parameters: RouteParameters) async throws -> Session {
    let account = try await caller(request).account
    let id = try Self.id(parameters)
    let sessions = try await service.store.gotifyClients(of: account)
    guard let session = sessions.first(where: { $0.number == id }) else {
      throw GotifyError.notFound
    }
    return session
  }

  // MARK: - Applications

  private func registerApplications(_ prefix: String, on router: inout Router) {
    on([.get], "\(prefix)/application", &router) { request, _ in
      let caller = try await caller(request)
      let applications = try await service.store.applications(of: caller.account)
      let tokens = applications.map { token(of: $0, for: caller.token) }
      if let client = caller.hash {
        let aliases = zip(applications, tokens).compactMap { application, token in
          token.flatMap { token in application.publisher.map { (token.hash, $0) } }
        }
        try await service.store.keep(aliases, for: client)
      }
      return Self.json(
        .list(zip(applications, tokens).map { GotifyMessage.json(of: $0, token: $1?.text) }))
    }
    on([.post], "\(prefix)/application", &router) { request, _ in
      let caller = try await caller(request)
      let body = try Self.object(request)
      let token = BearerToken(.gotify, randomBytes: service.randomBytes)
      let application = try await service.store.addApplication(
        named: try Self.name(in: body), description: Self.description(in: body),
        defaultPriority: Self.priority(in: body), of: caller.account, token.hash
      ) { [topics] transaction in try topics.store.requireGood(caller.credential, transaction) }
      return Self.json(GotifyMessage.json(of: application, token: token.text))
    }
    on([.put], "\(prefix)/application/{id}", &router) { request, parameters in
      let caller = try await caller(request)
      let body = try Self.object(request)
      let application = try await service.store.changeApplication(
        try Self.id(parameters), named: try Self.name(in: body),
        description: Self.description(in: body), defaultPriority: Self.priority(in: body),
        of: caller.account)
      guard let application else { throw GotifyError.notFound }
      let token = token(of: application, for: caller.token)
      return Self.json(GotifyMessage.json(of: application, token: token?.text))
    }
    on([.delete], "\(prefix)/application/{id}", &router) { request, parameters in
      let account = try await caller(request).account
      guard try await service.store.endApplication(try Self.id(parameters), of: account) else {
        throw GotifyError.notFound
      }
      return Response(.ok)
    }
    on([.get], "\(prefix)/application/{id}/message", &router) { request, parameters in
      let caller = try await caller(request)
      let sender = try await sender(try Self.id(parameters), of: caller.account)
      return try await messages(request, of: caller.account, from: sender)
    }
    on([.delete], "\(prefix)/application/{id}/message", &router) { request, parameters in
      let account = try await caller(request).account
      let sender = try await sender(try Self.id(parameters), of: account)
      _ = try await service.store.deletePublished(of: account, from: sender)
      return Response(.ok)
    }
    on([.get, .post, .delete], "\(prefix)/application/{id}/image", &router) { _, _ in
      throw GotifyError.notFound
    }
  }

  /// Makes the token of an application that a client shows and sends with. awd keeps hashes only, so that it is made of the
  /// client's own token each time, and ends with that.
  private func token(
    of application: PublishingApplication, for client: String?
  ) -> BearerToken? {
    guard let client, application.publisher != nil else { return nil }
    var round = 0
    let text = RandomText.make(14) { count in
      round += 1
      // Without OpenSSL's help the token is another one each time, and good as well.
      return HKDF.derive(
        from: Array(client.utf8), salt: Array("gotify".utf8),
        info: Array("\(application.id) \(round)".utf8), count: count)
        ?? service.randomBytes(count)
    }
    return BearerToken(made: "A" + text)
  }

  private func sender(_ id: Int64, of account: UserName) async throws -> UserName {
    let applications = try await service.store.applications(of: account)
    guard let application = applications.first(where: { $0.id == id }) else {
      throw GotifyError.notFound
    }
    return application.sender
  }

  // MARK: - Messages

  private func registerMessages(_ prefix: String, on router: inout Router) {
    on([.get], "\(prefix)/message", &router) { request, _ in
      try await messages(request, of: try await caller(request).account, from: nil)
    }
    on([.delete], "\(prefix)/message", &router) { request, _ in
      _ = try await service.store.deletePublished(of: try await caller(request).account)
      return Response(.ok)
    }
    on([.delete], "\(prefix)/message/{id}", &router) { request, parameters in
      let account = try await caller(request).account
      let id = try Self.id(parameters)
      guard try await service.store.deletePublished(of: account, number: id) else {
        throw GotifyError.notFound
      }
      return Response(.ok)
    }
  }

  private func messages(
    _ request: Request, of account: UserName, from sender: UserName?
  ) async throws -> Response {
    let query = request.head.query.map { URLEncodedForm(lenient: $0) }
    let limit = try Self.number(query?["limit"], default: Self.defaultLimit, named: "limit")
    guard Self.limits.contains(limit) else {
      throw GotifyError.bad("limit is not from 1 to \(Self.limits.upperBound)")
    }
    let since = try Self.number(query?["since"], default: 0, named: "since")
    let below = since > 0 ? Int64(since) : .max
    let names = try await service.store.shownNames(of: account)
    let list = JSONListReading<Message>(
      atMost: limit, opening: Array(#"{"messages":["#.utf8),
      closing: { end in
        let last = end.last?.number ?? 0
        let paging = JSONValue.object([
          "size": .integer(end.count), "limit": .integer(limit),
          "since": .integer(end.hasMore ? last : 0),
          "next": end.hasMore ? .text(next(request, limit: limit, since: last)) : nil,
        ])
        return Array(#"],"paging":"#.utf8) + paging.bytes + Array("}".utf8)
      },
      encode: { GotifyMessage.json(of: $0, for: account, names).bytes }
    ) { [store = service.store] last, count in
      try await store.publishedMessages(
        of: account, below: last?.number ?? below, from: sender, atMost: count)
    }
    return Self.json(try await list.body())
  }

  private func next(_ request: Request, limit: Int, since: Int64) -> String {
    let base = topics.baseURL(of: request)
    let path = String(decoding: request.head.path, as: UTF8.self)
    return "\(base)\(path)?limit=\(limit)&since=\(since)"
  }

  private static func number(
    _ text: String?, default fallback: Int, named name: String
  ) throws(GotifyError) -> Int {
    guard let text, !text.isEmpty else { return fallback }
    guard let number = Int(text), number >= 0 else {
      throw .bad("\(name) is no whole number")
    }
    return number
  }

  // MARK: - Publishing

  /// Publishes a message by an application's token, or by a client's and the application's number.
  func publish(_ request: Request) async throws -> Response {
    try await answering(request) {
      let publisher = try await publisher(request)
      // Names may be written with capitals, but a request of Msgr's own, with a recipient, is not taken for one of Gotify's.
      if Self.namesRecipient(request.body), let json = PublicationReader.json(of: request),
        json[FieldID.userTo.rawValue] != nil, json["message"] == nil
      {
        throw GotifyError.bad("message is missing")
      }
      var reading: PublicationReader.Reading
      do throws(FieldError) {
        reading = try PublicationReader.read(request, isGotifys: true)
      } catch { throw GotifyError.bad(error.sentence) }
      Self.complete(&reading.fields, with: request.head)
      let (name, priority) = try await service.store.described(publisher.token)
      guard let message = reading.fields.message, !message.isEmpty else {
        throw GotifyError.bad("message is missing")
      }
      var publication = try service.validated(reading.fields)
      if publication.parts.priority == nil, priority > 0 { publication.parts.priority = priority }
      let published = try await service.publish(
        publication, by: publisher.token, to: publisher.recipients,
        as: try reading.clientID.map { text throws(FieldError) in try ClientID(text) })
      let json = GotifyMessage.json(
        id: published.number, sender: publisher.token.sender, named: name.isEmpty ? nil : name,
        for: publisher.token.owner, text: publication.text.text, parts: publication.parts,
        time: published.time ?? service.store.now)
      guard !publication.notes.isEmpty, let members = json.members else { return Self.json(json) }
      let notes = JSONValue.list(publication.notes.map { .text($0) })
      return Self.json(.object(members + [JSONValue.Member("notes", notes)]))
    }
  }

  private func publisher(
    _ request: Request
  ) async throws -> (token: PublisherToken, recipients: [UserName]) {
    guard let hash = Self.shownToken(request.head) else { throw GotifyError.unauthorized }
    if let session = try await service.store.boundToken(hash), session.device.isGotify {
      return try await publisher(ofClient: session.name, request)
    }
    let found = try await service.publisher(showing: hash, from: request.origin.client)
    return (found.publisher, found.recipients)
  }

  /// Finds the application that a client names.
  private func publisher(
    ofClient account: UserName, _ request: Request
  ) async throws -> (token: PublisherToken, recipients: [UserName]) {
    let query = request.head.query.map { URLEncodedForm(lenient: $0) }
    let reading = try? PublicationReader.read(request, isGotifys: true)
    let number = query?["appid"].flatMap { Int64($0) } ?? reading?.appID
    let applications = try await service.store.applications(of: account)
    guard let number else { throw GotifyError.bad("appid is missing") }
    guard let hash = applications.first(where: { $0.id == number })?.publisher,
      let found = try await service.store.publisher(hash)
    else { throw GotifyError.notFound }
    return (found.publisher, found.recipients)
  }

  /// Fills in what the query says.
  private static func complete(_ fields: inout PublicationFields, with head: RequestHead) {
    guard let query = head.query else { return }
    let form = URLEncodedForm(lenient: query)
    fields.message = fields.message ?? form["message"]
    fields.title = fields.title ?? form["title"]
    fields.priority = fields.priority ?? form["priority"]
    if fields.extras == nil, let text = form["extras"] {
      fields.read(extras: JSONValue(parsing: Array(text.utf8)))
    }
  }

  /// Returns whether a message looks like one by Msgr's own clients, which saves a look into the store for each: it names a
  /// recipient, and shows the token of a session or none.
  func isProbablyMsgrs(_ request: Request) -> Bool {
    let head = request.head
    guard head.query == nil, head.first(Self.key) == nil else { return false }
    if let field = head.first(.authorization) {
      let form = BearerToken.Form.session
      let prefix = "Bearer "
      guard field.count == prefix.utf8.count + form.length, field.starts(with: prefix.utf8) else {
        return false
      }
    }
    return Self.namesRecipient(request.body)
  }

  /// Returns whether a body has Msgr's field of recipients.
  private static func namesRecipient(_ body: [UInt8]) -> Bool {
    let field = recipientsField
    guard body.count >= field.count else { return false }
    return (0...(body.count - field.count)).contains { start in
      body[start + 1] == field[1] && body[start..<(start + field.count)].elementsEqual(field)
    }
  }

  private static let recipientsField = Array("\"\(FieldID.userTo.rawValue)\"".utf8)

  /// Returns whether a request to a path that Msgr has too is Gotify's.
  func isGotify(_ request: Request) async throws -> Bool {
    let head = request.head
    if Self.ownToken(head) != nil { return true }
    guard let field = head.first(.authorization) else { return false }
    switch GivenCredentials(authorization: field) {
    case .nothing, .malformed: return false
    case .token(let hash): return try await isGotify(hash)
    case .account(_, let secret):
      return try await isGotify(BearerToken.hash(ofText: Array(secret.utf8)))
    }
  }

  private func isGotify(_ hash: TokenHash) async throws -> Bool {
    if let session = try await service.store.boundToken(hash) { return session.device.isGotify }
    return try await service.store.publisher(hash) != nil
  }

  // MARK: - Stream

  /// Returns whether a handshake at the path of Msgr's stream is Gotify's.
  static func isGotifyStream(_ head: RequestHead) -> Bool { ownToken(head) != nil }

  /// Accepts a stream, which brings each new published message.
  func acceptStream(_ request: Request) async throws -> WebSocketAcceptance {
    do {
      guard let token = Self.token(request.head) else { throw GotifyError.unauthorized }
      let hash = BearerToken.hash(ofText: Array(token.utf8))
      guard let session = try await service.store.boundToken(hash), session.device.isGotify else {
        throw GotifyError.unauthorized
      }
      let client = request.origin.client
      let beginning = try await WorkOwner.$current.withValue(WorkOwner(client: client)) {
        try await service.beginStream(hash, since: nil, from: client)
      }
      let account = session.name
      let names = try await service.store.shownNames(of: account)
      var acceptance = WebSocketAcceptance { [service] socket in
        MessageStream(socket, service, beginning) { message in
          GotifyMessage.json(of: message, for: account, names).bytes
        }
      }
      acceptance.limits.maximumMessage = 4096
      acceptance.lowWaterMark = MessageStream.lowWaterMark
      acceptance.highWaterMark = 2 << 20
      acceptance.limits.pingInterval = min(streamPing, .seconds(45))
      return acceptance
    } catch {
      guard let failure = GotifyError(refusing: error) else { throw error }
      var refusal = HTTPError(failure.status, failure.text)
      refusal.json = failure.json
      throw refusal
    }
  }

  // MARK: - Bodies

  /// Reads the body of a request that makes or changes something: JSON or a form.
  private static func object(_ request: Request) throws(GotifyError) -> JSONValue {
    if let json = PublicationReader.json(of: request), json.members != nil {
      return json.foldingNames
    }
    let pairs = URLEncodedForm(lenient: request.body[...]).pairs
    guard !pairs.isEmpty else { throw .bad("the body is neither a JSON object nor a form") }
    return JSONValue.object(pairs.map { JSONValue.Member($0.name, .text($0.value)) }).foldingNames
  }

  private static func name(in body: JSONValue) throws(GotifyError) -> String {
    let line = PlainText.line(body["name"]?.string ?? "").filter { $0 != "/" }
    let name = PlainText.cut(line, toBytes: longestName)
    guard !name.isEmpty else { throw .bad("name is missing") }
    return name
  }

  private static func description(in body: JSONValue) -> String {
    PlainText.cut(PlainText.line(body["description"]?.string ?? ""), toBytes: 1024)
  }

  private static func priority(in body: JSONValue) -> Int {
    let number =
      body["defaultpriority"]?.integer ?? body["defaultpriority"]?.string.flatMap { Int64($0) }
    return Int(min(10, max(0, number ?? 0)))
  }

  private static func id(_ parameters: RouteParameters) throws(GotifyError) -> Int64 {
    guard let id = Int64(parameters.text("id") ?? ""), id > 0 else {
      throw .bad("id is no whole number")
    }
    return id
  }
}
