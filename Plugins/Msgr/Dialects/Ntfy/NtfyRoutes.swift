internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Platform
internal import Routing

/// The requests of ntfy's apps, command line and integrations: each is read, handed to the topics, and answered in ntfy's form.
struct NtfyRoutes: Sendable {
  static let healthy = #"{"healthy":true}"# + "\n"
  static let allowOrigin = FieldName("Access-Control-Allow-Origin")
  private static let allowMethods = FieldName("Access-Control-Allow-Methods")
  private static let allowHeaders = FieldName("Access-Control-Allow-Headers")
  let topics: TopicService
  let log: Log

  typealias Answer = @Sendable (Request, RouteParameters) async throws -> Response

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
    registerVersion1(on: &router)
    registerFiles(on: &router)
    registerMatrix(on: &router)
    registerOptions(on: &router)
  }

  static let methods: [HTTPProtocol.Method] = [.get, .put, .post, .delete, .patch]

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
      let owner = WorkOwner(client: request.origin.client)
      return shared(try await WorkOwner.$current.withValue(owner) { try await act() })
    } catch { return try refusal(of: request, error) }
  }

  /// Makes the response to a request that failed, or throws what is no client's error.
  func refusal(of request: Request, _ error: any Error) throws -> Response {
    guard let failure = NtfyError(refusing: error) else { throw error }
    // A person who has mistyped an address gets the page that leads to the front door.
    if failure.code == NtfyError.notFound.code, request.head.isForPage {
      throw HTTPError(.notFound)
    }
    return shared(failure.answering(request.head).response)
  }

  /// Lets pages of any origin read a response, as it needs no cookies.
  func shared(_ response: Response) -> Response {
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
}
