package import Configuration
package import HTTPProtocol
package import HTTPServer
package import WebApps

internal import Observability

/// Collects the routes of one service.
///
/// A pattern is a path whose segments are literal or, in braces, parameters: `{name}` is any
/// segment, `{name:digits(4)}` one of exactly four digits, `{name:prefix(0x)}` one that begins with
/// `0x` or `0X`, and `{name...}`, at the end, one or more segments, `{name...:suffix(.tsml)}` those
/// that end so. At each segment a literal one beats digits, digits beat a prefix, a prefix beats any,
/// any beats the rest. A pattern has at most
/// four parameters. `.` and `..` match none.
///
/// A handler that contains no `await` is synchronous: it runs inline on the connection's event
/// loop and must not block. An asynchronous one runs as a task on the same loop. Errors of handlers
/// become responses: ``HTTPError`` its own, an unavailable store 503, any other 500.
///
/// `GET` implies `HEAD`. A known path with another method gives 405 with `Allow`.
package struct Router: Sendable {
  /// Answers a request inline on the event loop.
  package typealias Handler = @Sendable (Request, RouteParameters) throws -> Response
  /// Answers a request as a task on the event loop.
  package typealias AsyncHandler = @Sendable (Request, RouteParameters) async throws -> Response
  /// Answers a request as a task on the event loop, and receives its body in parts.
  package typealias UploadHandler =
    @Sendable (Request, RequestBody, RouteParameters) async throws -> Response
  /// Answers a request as a task on the event loop, with a response that may go on as long as the client listens.
  package typealias StreamHandler =
    @Sendable (Request, RouteParameters) async throws -> StreamDecision
  /// Looks at a request before any of its body is read, inline on the event loop, and throws the error that refuses it.
  package typealias Screen = @Sendable (RequestHead, RequestOrigin) throws(HTTPError) -> Void
  /// Accepts a WebSocket, or throws the error that refuses it.
  package typealias WebSocketRoute =
    @Sendable (Request, RouteParameters) async throws -> WebSocketAcceptance
  /// Returns the reason why a service is not ready, or nil if it is.
  package typealias ReadinessCheck = @Sendable () async -> String?

  /// The name of the service, which labels metrics and log lines.
  package let service: String
  /// The hosts that the routes answer to. Empty means any.
  package let hosts: [HostName]
  /// The form of the error responses that the router makes for this service.
  package var errorStyle = ErrorStyle.negotiated
  /// Header fields of each such response, such as those of CORS.
  package var errorFields = HeaderFields()
  /// True if paths have what is no business of the log's, which has the routes' patterns instead.
  package var hidesPaths = false
  /// Header fields, besides `Allow`, of the 204 that answers `OPTIONS`. With nil, `OPTIONS` is a method like any other,
  /// and not allowed if no route takes it.
  package var optionsFields: HeaderFields? = HeaderFields()

  private(set) var routes: [RouteDefinition] = []
  private var operatorRoutes: [(pattern: String, handler: Handler)] = []
  /// The readiness checks, in the order in which they were added.
  package private(set) var checks: [(name: String, check: ReadinessCheck)] = []

  /// Makes a router without routes.
  ///
  /// - Parameter hosts: the hosts that the routes answer to, at any port. Empty means any.
  package init(service: String, hosts: [HostName] = []) {
    self.service = service
    self.hosts = hosts
  }

  /// Adds a route for `GET` and `HEAD`, answered inline on the event loop.
  package mutating func get(_ pattern: String, _ handler: @escaping Handler) {
    on([.get], pattern, handler)
  }

  /// Adds a route for `GET` and `HEAD`, answered by a task.
  package mutating func get(_ pattern: String, _ handler: @escaping AsyncHandler) {
    on([.get], pattern, handler)
  }

  /// Adds a route for `GET` and `HEAD`, answered inline on the event loop whenever that is possible, and else by a task.
  ///
  /// - Parameter isInline: returns whether a request can be answered inline.
  package mutating func get(
    _ pattern: String, inlineIf isInline: @escaping @Sendable () -> Bool,
    _ handler: @escaping Handler, otherwise: @escaping AsyncHandler
  ) {
    add([.get], pattern, nil, .either(isInline, handler, otherwise))
  }

  /// Adds a route for `POST`, answered by a task.
  ///
  /// - Parameter bodyLimit: the largest body in bytes, or nil for the configured one.
  package mutating func post(
    _ pattern: String, bodyLimit: Int? = nil, _ handler: @escaping AsyncHandler
  ) {
    on([.post], pattern, bodyLimit: bodyLimit, handler)
  }

  /// Adds a route for some methods, answered inline on the event loop.
  ///
  /// - Parameter bodyLimit: the largest body in bytes, or nil for the configured one.
  package mutating func on(
    _ methods: [Method], _ pattern: String, bodyLimit: Int? = nil, _ handler: @escaping Handler
  ) {
    add(methods, pattern, bodyLimit, .inline(handler))
  }

  /// Adds a route for some methods, answered by a task.
  ///
  /// - Parameters:
  ///   - bodyLimit: the largest body in bytes, or nil for the configured one.
  ///   - screen: looks at each request first, or nil.
  package mutating func on(
    _ methods: [Method], _ pattern: String, bodyLimit: Int? = nil, screen: Screen? = nil,
    _ handler: @escaping AsyncHandler
  ) {
    add(methods, pattern, bodyLimit, .task(handler), screen)
  }

  /// Adds a route for some methods, answered by a task that receives the body in parts.
  ///
  /// - Parameter bodyLimit: the largest body in bytes.
  package mutating func upload(
    _ methods: [Method], _ pattern: String, bodyLimit: Int, _ handler: @escaping UploadHandler
  ) {
    add(methods, pattern, bodyLimit, .upload(handler))
  }

  /// Adds a route for some methods, answered by a task that gets the body whole if it is short, and in parts otherwise.
  ///
  /// - Parameters:
  ///   - bodyLimit: the largest body that comes in parts, in bytes; one that comes whole has the configured limit.
  ///   - comesInParts: decides by the head of a request, inline on the event loop.
  package mutating func upload(
    _ methods: [Method], _ pattern: String, bodyLimit: Int,
    if comesInParts: @escaping @Sendable (RequestHead) -> Bool, _ handler: @escaping UploadHandler
  ) {
    add(methods, pattern, nil, .uploadIf(comesInParts, upTo: bodyLimit, handler))
  }

  /// Adds a route for `GET` and `HEAD`, answered by a task, with a response that may go on as long as the client listens.
  package mutating func stream(_ pattern: String, _ handler: @escaping StreamHandler) {
    add([.get], pattern, nil, .stream(handler))
  }

  /// Adds a route for WebSocket handshakes (RFC 6455).
  ///
  /// - Parameter accept: gives the session's handler and limits, or throws the error that refuses the handshake.
  package mutating func webSocket(_ pattern: String, _ accept: @escaping WebSocketRoute) {
    add([.get], pattern, nil, .webSocket(accept))
  }

  /// Adds a route for the operator's `GET` and `HEAD`, answered inline on the event loop. It belongs to
  /// ``operatorRouter(for:)``, not to this router.
  package mutating func getForOperator(_ pattern: String, _ handler: @escaping Handler) {
    operatorRoutes.append((pattern, handler))
  }

  /// Makes a router of the routes for the operator, which are served at any host, beside the metrics.
  ///
  /// - Parameter access: decides which requests are answered.
  package func operatorRouter(for access: OperatorAccess) -> Router {
    var router = Router(service: service)
    router.errorStyle = errorStyle
    router.errorFields = errorFields
    for (pattern, handler) in operatorRoutes {
      router.get(pattern) { request, parameters in
        try access.check(request)
        return try handler(request, parameters)
      }
    }
    return router
  }

  /// Adds a check to `/readyz`.
  ///
  /// - Parameter check: returns what is missing, in words that anyone may read, or nil if all is well.
  package mutating func readiness(_ name: String, _ check: @escaping ReadinessCheck) {
    checks.append((name, check))
  }

  private mutating func add(
    _ methods: [Method], _ pattern: String, _ bodyLimit: Int?, _ handler: RouteHandler,
    _ screen: Screen? = nil
  ) {
    let pattern = RoutePattern(pattern)
    for method in methods {
      routes.append(
        RouteDefinition(
          method: method, pattern: pattern, bodyLimit: bodyLimit, screen: screen, handler: handler))
    }
  }
}

/// A route that was registered.
struct RouteDefinition: Sendable {
  let method: Method
  let pattern: RoutePattern
  let bodyLimit: Int?
  let screen: Router.Screen?
  let handler: RouteHandler
}

/// The kinds of handlers.
enum RouteHandler: Sendable {
  case inline(Router.Handler)
  case task(Router.AsyncHandler)
  case upload(Router.UploadHandler)
  case uploadIf(@Sendable (RequestHead) -> Bool, upTo: Int, Router.UploadHandler)
  case stream(Router.StreamHandler)
  case either(@Sendable () -> Bool, Router.Handler, Router.AsyncHandler)
  case webSocket(Router.WebSocketRoute)
}

/// The common properties of all routes of a service.
struct RoutedService: Sendable {
  /// The router of the service, which names it and states the style of its errors.
  let router: Router
  let log: Log
  let latency: Histogram

  init(_ router: Router, log: Log, metrics: Metrics) {
    self.router = router
    self.log = log.with(["service": router.service])
    latency = metrics.histogram(
      "awd_http_request_duration_seconds", "Duration of a request",
      ["service": router.service])
  }

  /// Makes the response to a failure, in the service's style.
  func response(_ error: HTTPError, to head: RequestHead) -> Response {
    router.errorStyle.response(error, to: head, adding: router.errorFields)
  }
}

extension Router {
  /// Registers an app's pages and files.
  package mutating func register(_ app: WebApp) {
    for name in app.fileNames {
      get("\(app.path)/\(name)") { request, _ in
        guard let response = try app.response(to: request.head, file: name) else {
          throw HTTPError(.notFound)
        }
        return response
      }
    }
    get(app.path) { _, _ in
      var response = Response(.permanentRedirect)
      response.fields.append(.location, "\(app.path)/")
      return response
    }
  }
}

/// The form of the error responses that the router makes for a service.
package enum ErrorStyle: Sendable {
  /// A body in JSON or HTML if `Accept` names one of them, else an empty body.
  case negotiated
  /// A body `{"error":"…"}` in any case.
  case json
  /// The service's own.
  case own(@Sendable (HTTPError) -> Response)
}

extension RequestHead {
  /// Whether a browser requests a page, and not a program JSON, XML or anything at all.
  package var isForPage: Bool {
    guard method == .get || method == .head else { return false }
    let accept = AcceptList(self, .accept)
    return ["application/json", "application/xml", "text/xml"].allSatisfy {
      accept.prefers("text/html", to: $0)
    }
  }
}

extension ErrorStyle {
  /// Makes the response to a failure.
  func response(_ error: HTTPError, to head: RequestHead, adding fields: HeaderFields) -> Response {
    var response = Response(error.status)
    switch self {
    // A person who has mistyped an address, whichever service's form it has.
    case .json where error.status == .notFound && head.isForPage,
      .own where error.status == .notFound && head.isForPage:
      response = Self.html(error)
      response.fields.append(.vary, "Accept")
    case .json: response = Self.json(error)
    case .own(let make): response = make(error)
    case .negotiated:
      let accept = AcceptList(head, .accept)
      if accept.prefers("application/json", to: "text/html") {
        response = Self.json(error)
      } else if accept.quality(of: "text/html") ?? 0 > 0 {
        response = Self.html(error)
      }
      response.fields.append(.vary, "Accept")
    }
    for extra in [error.fields, fields] { response.fields.append(contentsOf: extra) }
    return response
  }

  private static func json(_ error: HTTPError) -> Response {
    if let json = error.json {
      var response = Response(error.status, body: .array(json))
      response.fields.append(.contentType, "application/json")
      return response
    }
    // Encoding text doesn't fail. If it did, the status alone would have to do.
    return
      (try? Response(error.status, json: error.members.merging(["error": error.message]) { $1 }))
      ?? Response(error.status)
  }

  private static func html(_ error: HTTPError) -> Response {
    let title = "\(error.status.code) \(error.status.reason)"
    let message = error.message == "\(error.status.reason)" ? "" : error.message
    let link = error.status == .notFound ? "\n<p><a href=\"/\">What runs here</a></p>" : ""
    var response = Response(
      error.status, type: "text/html; charset=utf-8",
      text: PageStyle.message.document(
        title: title, "<main>\n<h1>\(title)</h1>\n<p>\(message.htmlEscaped)</p>\(link)\n</main>"))
    response.fields.append(.contentSecurityPolicy, PageStyle.message.contentSecurityPolicy)
    return response
  }
}

/// An error that may pass by itself, such as that of a store that can't be reached. The router answers it with 503 then.
package protocol TemporaryFailure: Error {
  /// True if the same request may succeed a moment later, without a restart.
  var isUnavailable: Bool { get }
}

extension Router {
  /// The patterns of all routes.
  package var patterns: [String] { routes.map(\.pattern.text) }
}
