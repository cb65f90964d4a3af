internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import MsgrResources
internal import Platform
internal import Routing
internal import ServiceKit

/// The requests of Gotify's app, command line and integrations: each is read, handed to the service, and answered in Gotify's
/// form.
struct GotifyRoutes: Sendable {
  private static let longestName = 64
  private static let methods: [HTTPProtocol.Method] = [.get, .put, .post, .delete, .patch]
  /// The first segments below which Gotify has requests of which some are not done here.
  private static let prefixes = ["application", "client", "current", "message", "plugin", "user"]

  let service: MessageService
  let topics: TopicService
  let streamPing: Duration
  /// The largest body of other requests, in bytes.
  let ordinaryBodyLimit: Int

  /// The largest body of a message: what is over its own limit is cut.
  var bodyLimit: Int { max(ordinaryBodyLimit, service.publishing.longestBody) }

  typealias Answer = @Sendable (Request, RouteParameters) async throws -> Response

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
      for name in Self.prefixes {
        on(Self.methods, "\(prefix)/\(name)/{rest...}", &router) { _, _ in
          throw GotifyError.notFound
        }
      }
    }
    on([.get], "\(MsgrRoutes.prefix)/version", &router) { _, _ in Self.json(Self.version) }
    for pattern in ["/user", "/auth/{rest...}", "/image/{rest...}"] {
      on(Self.methods, pattern, &router) { _, _ in throw GotifyError.notFound }
    }
    guard isAlone else {
      // The path is Msgr's as well, whose refusal would have another form.
      on([.put, .patch], "/message", &router) { _, _ in
        var refusal = HTTPError(.methodNotAllowed)
        refusal.fields.append(.allow, "DELETE, GET, HEAD, POST")
        throw refusal
      }
      return
    }
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
  func on(
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

  static func json(_ value: JSONValue) -> Response { json(.array(value.bytes)) }

  static func json(_ body: Response.Body) -> Response {
    var response = Response(.ok, body: body)
    response.fields.append(.contentType, "application/json")
    response.fields.append(.cacheControl, "no-store")
    return response
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

  // MARK: - Bodies

  /// Reads the body of a request that makes or changes something: JSON or a form.
  static func object(_ request: Request) throws(GotifyError) -> JSONValue {
    if let json = PublicationReader.json(of: request), json.members != nil {
      return json.foldingNames
    }
    guard !PublicationReader.isMeantAsObject(request) else {
      throw .bad(FieldError.noObject.sentence)
    }
    let pairs = URLEncodedForm(lenient: request.body[...]).pairs
    guard !pairs.isEmpty else { throw .bad("the body is neither a JSON object nor a form") }
    return JSONValue.object(pairs.map { JSONValue.Member($0.name, .text($0.value)) }).foldingNames
  }

  static func name(in body: JSONValue) throws(GotifyError) -> String {
    let line = PlainText.line(body["name"]?.string ?? "").filter { $0 != "/" }
    let name = PlainText.cut(line, toBytes: longestName)
    guard !name.isEmpty else { throw .bad("name is missing") }
    return name
  }

  static func id(_ parameters: RouteParameters) throws(GotifyError) -> Int64 {
    guard let id = Int64(parameters.text("id") ?? ""), id > 0 else {
      throw .bad("id is no whole number")
    }
    return id
  }
}
