internal import Addresses
internal import HTTPProtocol
internal import HTTPServer
internal import MsgrMessages
internal import Observability
internal import ServiceKit
internal import Storage

/// The requests of the service: each reads its fields, calls the service, and writes the response.
struct MsgrRoutes: Sendable {
  /// The longest message on a stream, in bytes. The longest request is configured.
  private static let messageLimit = 64 << 10
  private static let noStore = "no-store"

  let service: MessageService
  let streamPing: Duration
  let description: ServiceDescription

  /// Registers all requests.
  func register(on router: inout Router) {
    router.errorStyle = .json
    router.errorFields.append(.cacheControl, Self.noStore)
    router.optionsFields = nil
    post("/register", on: &router) { call in
      let fields = call.fields
      let token = try await service.register(
        try fields.name(.username), try fields.password(), try fields.device(),
        from: call.network)
      return ["Token": token.text]
    }
    post("/login", on: &router) { call in
      let credentials = try call.passwordCredentials()
      let token = try await service.login(credentials, try call.fields.device())
      return ["Token": token.text]
    }
    post("/logout", on: &router) { call in
      try await service.logout(try call.credentials())
      return Done()
    }
    post("/delete", on: &router) { call in
      let credentials = try call.credentials()
      try await service.delete(credentials, try call.fields.password(), from: call.network)
      return Done()
    }
    post("/contacts", on: &router) { call in
      let names = try await service.friends(of: try call.credentials())
      return names.map(\.text)
    }
    post("/add", on: &router) { call in
      let credentials = try call.credentials(acceptsMisspelling: true)
      let friendship = try await service.add(try call.fields.name(.addUser), by: credentials)
      return ["Status": friendship.rawValue]
    }
    for (path, act) in [
      ("/unfriend", service.unfriend), ("/block", service.block), ("/unblock", service.unblock),
    ] {
      post(path, on: &router) { call in
        let credentials = try call.credentials()
        try await act(try call.fields.name(.user), credentials)
        return Done()
      }
    }
    postJSON("/message", on: &router) { call in
      let credentials = try call.credentials(name: .userFrom)
      let fields = call.fields
      let id = try await service.send(
        try fields.message(), to: try fields.name(.userTo), by: credentials)
      return id.json
    }
    post("/inbox", on: &router) { call in
      try await service.inbox(of: try call.credentials(), since: try call.fields.since())
    }
    router.webSocket("/stream") { request, _ in try await acceptStream(request) }
    router.get("/openapi.json") { request, _ in try description.response(to: request.head) }
  }

  private func post<Body: Encodable & SendableMetatype>(
    _ path: String, on router: inout Router,
    _ act: @escaping @Sendable (Call) async throws -> Body
  ) {
    postJSON(path, on: &router) { call in try JSONText.of(try await act(call)) }
  }

  private func postJSON(
    _ path: String, on router: inout Router,
    _ act: @escaping @Sendable (Call) async throws -> [UInt8]
  ) {
    router.post(path) { request, _ in
      do {
        let call = try Call(request)
        let body = try await WorkOwner.$current.withValue(WorkOwner(client: call.network)) {
          try await act(call)
        }
        var response = Response(.ok, body: .array(body))
        response.fields.append(.contentType, "application/json")
        response.fields.append(.cacheControl, Self.noStore)
        return response
      } catch {
        throw HTTPError(refusing: error) ?? error
      }
    }
  }

  // MARK: - The stream

  private func acceptStream(_ request: Request) async throws -> WebSocketAcceptance {
    do {
      guard let field = request.head.first(.authorization),
        let hash = BearerToken.hash(inAuthorization: field)
      else { throw RequestRefusal.forbidden }
      let (client, position) = (request.origin.client, try Self.position(request))
      let beginning = try await WorkOwner.$current.withValue(WorkOwner(client: client)) {
        try await service.beginStream(hash, since: position, from: client)
      }
      var acceptance = WebSocketAcceptance { [service] session in
        MessageStream(session, service, beginning)
      }
      acceptance.limits.maximumMessage = Self.messageLimit
      acceptance.lowWaterMark = MessageStream.lowWaterMark
      acceptance.highWaterMark = 2 << 20
      acceptance.limits.pingInterval = streamPing
      return acceptance
    } catch {
      throw HTTPError(refusing: error) ?? error
    }
  }

  /// Returns the message after which the query says that the stream begins.
  private static func position(_ request: Request) throws(FieldError) -> MessageID? {
    guard let query = request.head.query else { return nil }
    guard let form = URLEncodedForm(query) else {
      throw FieldError(.since, "is malformed")
    }
    return try form["since"].map { text throws(FieldError) in
      try MessageID(text, in: .since)
    }
  }
}

/// A request with its fields read.
private struct Call: Sendable {
  let fields: FieldValues
  /// The client's network, which limits count by.
  let network: ClientNetwork?
  private let token: TokenHash?

  init(_ request: Request) throws(FieldError) {
    fields = try FieldValues(request)
    network = request.origin.client
    token = request.head.first(.authorization).flatMap(BearerToken.hash(inAuthorization:))
  }

  /// Returns the credentials: a token if there is one, else a name and a password.
  func credentials(
    name field: FieldID = .username, acceptsMisspelling: Bool = false
  ) throws(FieldError) -> Credentials {
    guard let token else {
      return try passwordCredentials(name: field, acceptsMisspelling: acceptsMisspelling)
    }
    return .token(token, claiming: fields.has(field) ? try fields.name(field) : nil)
  }

  /// Returns a name and a password as credentials, whether there is a token or not.
  func passwordCredentials(
    name field: FieldID = .username, acceptsMisspelling: Bool = false
  ) throws(FieldError) -> Credentials {
    .password(
      try fields.name(field), try fields.password(acceptsMisspelling: acceptsMisspelling),
      from: network)
  }
}

/// The body of a response that says no more than its status.
private struct Done: Encodable {}
