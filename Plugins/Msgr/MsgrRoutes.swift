internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import ServiceKit

/// The service's requests: each takes its fields, has them acted upon, and writes the answer.
struct MsgrRoutes: Sendable {
  /// The longest message on a stream, in bytes. Of a request the configuration says it.
  private static let messageLimit = 64 << 10
  private static let noStore = "no-store"

  let service: MessageService
  let streamPing: Duration
  let description: ServiceDescription

  /// Registers all of them.
  func register(on router: inout Router) {
    router.errorStyle = .json
    router.errorFields.append(.cacheControl, Self.noStore)
    router.optionsFields = nil
    post("/register", on: &router) { call in
      let fields = call.fields
      let token = try await service.register(
        try fields.name(.username), try fields.password(), try fields.device())
      return ["Token": token.text]
    }
    post("/login", on: &router) { call in
      let fields = call.fields
      let token = try await service.login(
        try fields.name(.username), try fields.password(), try fields.device(), from: call.address)
      return ["Token": token.text]
    }
    post("/logout", on: &router) { call in
      try await service.logout(try call.credentials(), from: call.address)
      return Done()
    }
    post("/delete", on: &router) { call in
      let credentials = try call.credentials()
      try await service.delete(credentials, try call.fields.password(), from: call.address)
      return Done()
    }
    post("/contacts", on: &router) { call in
      let names = try await service.friends(of: try call.credentials(), from: call.address)
      return names.map(\.text)
    }
    post("/add", on: &router) { call in
      let credentials = try call.credentials(acceptsMisspelling: true)
      let friendship = try await service.add(
        try call.fields.name(.addUser), by: credentials, from: call.address)
      return ["Status": friendship.rawValue]
    }
    post("/unfriend", on: &router) { call in
      let credentials = try call.credentials()
      try await service.unfriend(
        try call.fields.name(.user), by: credentials, from: call.address)
      return Done()
    }
    post("/block", on: &router) { call in
      let credentials = try call.credentials()
      try await service.block(try call.fields.name(.user), by: credentials, from: call.address)
      return Done()
    }
    post("/unblock", on: &router) { call in
      let credentials = try call.credentials()
      try await service.unblock(try call.fields.name(.user), by: credentials, from: call.address)
      return Done()
    }
    // The one that is asked most: its answer needs no encoder.
    postJSON("/message", on: &router) { call in
      let credentials = try call.credentials(name: .userFrom)
      let fields = call.fields
      let id = try await service.send(
        try fields.message(), to: try fields.name(.userTo), by: credentials, from: call.address)
      return Array(#"{"Id":"\#(id.text)"}"#.utf8)
    }
    post("/inbox", on: &router) { call in
      let messages = try await service.inbox(
        of: try call.credentials(), since: try call.fields.since(), from: call.address)
      return messages
    }
    router.webSocket("/stream") { request, _ in try await acceptStream(request) }
    router.get("/openapi.json") { request, _ in try description.response(to: request.head) }
  }

  private func post<Answer: Encodable & SendableMetatype>(
    _ path: String, on router: inout Router,
    _ act: @escaping @Sendable (Call) async throws -> Answer
  ) {
    postJSON(path, on: &router) { call in try JSONText.of(try await act(call)) }
  }

  private func postJSON(
    _ path: String, on router: inout Router,
    _ act: @escaping @Sendable (Call) async throws -> [UInt8]
  ) {
    router.post(path) { request, _ in
      do {
        return Self.answer(.ok, try await act(try Call(request)))
      } catch let error as FieldError {
        return Self.answer(.badRequest, try JSONText.of(FaultAnswer(error)))
      } catch let refusal as Refusal {
        throw refusal.httpError
      }
    }
  }

  private static func answer(_ status: Status, _ json: [UInt8]) -> Response {
    var response = Response(status, body: .array(json))
    response.fields.append(.contentType, "application/json")
    response.fields.append(.cacheControl, noStore)
    return response
  }

  // MARK: - The stream

  private func acceptStream(_ request: Request) async throws -> WebSocketAcceptance {
    do {
      guard let field = request.head.first(.authorization),
        let token = BearerToken.hash(inAuthorization: field)
      else { throw Refusal.forbidden }
      let (identity, start) = try await service.beginStream(
        token, since: try Self.position(request))
      var acceptance = WebSocketAcceptance { [service] session in
        MessageStream(
          session, service, identity, token: token, behind: start,
          lowWaterMark: 64 << 10)
      }
      acceptance.maximumMessage = Self.messageLimit
      acceptance.lowWaterMark = 64 << 10
      acceptance.highWaterMark = 2 << 20
      acceptance.pingInterval = streamPing
      return acceptance
    } catch let error as FieldError {
      var answer = HTTPError(.badRequest, error.sentence)
      answer.members["field"] = error.field?.rawValue
      throw answer
    } catch let refusal as Refusal {
      throw refusal.httpError
    }
  }

  /// The message that the query says the stream begins behind.
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

/// A request, its fields read.
private struct Call: Sendable {
  let fields: FieldValues
  let address: ClientAddress
  private let token: TokenHash?

  init(_ request: Request) throws(FieldError) {
    fields = try FieldValues(request)
    address = ClientAddress(peer: request.origin.peer)
    token = request.head.first(.authorization).flatMap(BearerToken.hash(inAuthorization:))
  }

  /// Who the caller says it is: by a token if there is one, else by name and password.
  func credentials(
    name field: FieldID = .username, acceptsMisspelling: Bool = false
  ) throws(FieldError) -> Credentials {
    guard let token else {
      return .password(
        try fields.name(field), try fields.password(acceptsMisspelling: acceptsMisspelling))
    }
    return .token(token, claiming: fields.has(field) ? try fields.name(field) : nil)
  }
}

/// What is answered where there is nothing to say but 200.
private struct Done: Encodable {}

/// What is answered to a request that can't be taken.
private struct FaultAnswer: Encodable {
  let error: String
  let field: String?

  init(_ fault: FieldError) {
    error = fault.sentence
    field = fault.field?.rawValue
  }
}

extension FieldError {
  /// What is wrong, in words.
  var sentence: String { field.map { "\($0.rawValue) \(message)" } ?? message }
}

extension Refusal {
  /// How it is answered.
  var httpError: HTTPError {
    switch self {
    case .forbidden: HTTPError(.forbidden)
    case .tooMany(let seconds): HTTPError(.tooManyRequests, retryAfter: seconds)
    case .busy:
      HTTPError(.serviceUnavailable, "too many passwords wait to be checked", retryAfter: 1)
    case .tooLong:
      HTTPError(.contentTooLarge, "the message does not fit into a push of 4,096 bytes")
    }
  }
}
