public import HTTPProtocol
public import HTTPServer

/// Takes the routes of one service.
///
/// A pattern is a path whose segments are literal or, in braces, parameters: `{name}` is any
/// segment, `{name:digits(4)}` one of exactly four digits, `{name:prefix(0x)}` one that begins with
/// `0x` or `0X`, and `{name...}`, at the end, one or more segments. At each segment a literal one
/// beats digits, digits beat a prefix, a prefix beats any, any beats the rest. A pattern has at most
/// four parameters; `.` and `..` match none.
///
/// A handler that contains no `await` is synchronous: it runs inline on the connection's event
/// loop and must not block. An asynchronous one runs as a task on the same loop. What a handler
/// throws becomes a response: ``HTTPError`` its own, a store that can't answer 503, all else 500.
///
/// `GET` implies `HEAD`. A known path with another method gives 405 with `Allow`.
public struct Router: Sendable {
  /// Answers a request inline on the event loop.
  public typealias Handler = @Sendable (Request, RouteParameters) throws -> Response
  /// Answers a request as a task on the event loop.
  public typealias AsyncHandler = @Sendable (Request, RouteParameters) async throws -> Response
  /// Accepts a WebSocket, or throws what it is refused with.
  public typealias WebSocketRoute =
    @Sendable (Request, RouteParameters) async throws -> WebSocketAcceptance
  /// Tells what a service lacks to do its work; nil: nothing.
  public typealias ReadinessCheck = @Sendable () async -> String?

  /// The name of the service: a label of metrics, a field of log lines.
  public let service: String
  /// The host names, in lower case, that the routes answer to; empty: to any.
  public let hosts: [String]
  /// How errors look that the router answers for this service.
  public var errorStyle = ErrorStyle.negotiated
  /// Header fields of each such answer, 405 and mapped errors: those of CORS, say.
  public var errorFields = HeaderFields()
  /// Header fields, besides `Allow`, of the 204 that answers `OPTIONS`; nil: `OPTIONS` is a method
  /// like any other, and not allowed where no route takes it.
  public var optionsFields: HeaderFields? = HeaderFields()

  private(set) var routes: [RouteDefinition] = []
  private var operatorRoutes: [(pattern: String, handler: Handler)] = []
  private(set) var checks: [(name: String, check: ReadinessCheck)] = []

  /// No routes yet.
  ///
  /// - Parameters:
  ///   - service: the name of the service.
  ///   - hosts: the host names that the routes answer to, with or without port; empty: any.
  public init(service: String, hosts: [String] = []) {
    self.service = service
    self.hosts = hosts.map { $0.lowercased() }
  }

  /// Answers `GET` and `HEAD`, inline on the event loop.
  public mutating func get(_ pattern: String, _ handler: @escaping Handler) {
    on([.get], pattern, handler)
  }

  /// Answers `GET` and `HEAD`, as a task.
  public mutating func get(_ pattern: String, _ handler: @escaping AsyncHandler) {
    on([.get], pattern, handler)
  }

  /// Answers `HEAD` otherwise than as `GET` without the body, inline on the event loop.
  public mutating func head(_ pattern: String, _ handler: @escaping Handler) {
    on([.head], pattern, handler)
  }

  /// Answers `POST`, inline on the event loop.
  ///
  /// - Parameters:
  ///   - pattern: the path.
  ///   - bodyLimit: the longest body taken, in bytes; nil: what the configuration says.
  ///   - handler: gives the response.
  public mutating func post(
    _ pattern: String, bodyLimit: Int? = nil, _ handler: @escaping Handler
  ) {
    on([.post], pattern, bodyLimit: bodyLimit, handler)
  }

  /// Answers `POST`, as a task.
  ///
  /// - Parameters:
  ///   - pattern: the path.
  ///   - bodyLimit: the longest body taken, in bytes; nil: what the configuration says.
  ///   - handler: gives the response.
  public mutating func post(
    _ pattern: String, bodyLimit: Int? = nil, _ handler: @escaping AsyncHandler
  ) {
    on([.post], pattern, bodyLimit: bodyLimit, handler)
  }

  /// Answers some methods, inline on the event loop.
  ///
  /// - Parameters:
  ///   - methods: which ones.
  ///   - pattern: the path.
  ///   - bodyLimit: the longest body taken, in bytes; nil: what the configuration says.
  ///   - handler: gives the response.
  public mutating func on(
    _ methods: [Method], _ pattern: String, bodyLimit: Int? = nil, _ handler: @escaping Handler
  ) {
    add(methods, pattern, bodyLimit, .inline(handler))
  }

  /// Answers some methods, as a task.
  ///
  /// - Parameters:
  ///   - methods: which ones.
  ///   - pattern: the path.
  ///   - bodyLimit: the longest body taken, in bytes; nil: what the configuration says.
  ///   - handler: gives the response.
  public mutating func on(
    _ methods: [Method], _ pattern: String, bodyLimit: Int? = nil,
    _ handler: @escaping AsyncHandler
  ) {
    add(methods, pattern, bodyLimit, .task(handler))
  }

  /// Answers WebSocket handshakes (RFC 6455).
  ///
  /// - Parameters:
  ///   - pattern: the path.
  ///   - accept: gives the session's handler and limits, or throws what it is refused with.
  public mutating func webSocket(_ pattern: String, _ accept: @escaping WebSocketRoute) {
    add([.get], pattern, nil, .webSocket(accept))
  }

  /// Answers the operator's `GET` and `HEAD`, inline on the event loop: a route not of this router, but
  /// of its ``operatorRouter(onlyLocal:)``.
  public mutating func getForOperator(_ pattern: String, _ handler: @escaping Handler) {
    operatorRoutes.append((pattern, handler))
  }

  /// The routes that are for the operator, to be served where the metrics are, at any host.
  ///
  /// - Parameter onlyLocal: whether only peers on this machine are answered, and of these none that a
  ///   proxy stands in front of: for a listener that the world reaches.
  public func operatorRouter(onlyLocal: Bool) -> Router {
    var router = Router(service: service)
    router.errorStyle = errorStyle
    router.errorFields = errorFields
    for (pattern, handler) in operatorRoutes {
      router.get(pattern) { request, parameters in
        if onlyLocal { try request.requireLocal() }
        return try handler(request, parameters)
      }
    }
    return router
  }

  /// Adds a check to `/readyz`.
  ///
  /// - Parameters:
  ///   - name: what is checked, in a word.
  ///   - check: gives what is missing, in words that anyone may read; nil when all is well.
  public mutating func readiness(_ name: String, _ check: @escaping ReadinessCheck) {
    checks.append((name, check))
  }

  private mutating func add(
    _ methods: [Method], _ pattern: String, _ bodyLimit: Int?, _ handler: RouteHandler
  ) {
    let pattern = RoutePattern(pattern)
    for method in methods {
      routes.append(
        RouteDefinition(method: method, pattern: pattern, bodyLimit: bodyLimit, handler: handler))
    }
  }
}

/// A route as it was registered.
struct RouteDefinition: Sendable {
  let method: Method
  let pattern: RoutePattern
  let bodyLimit: Int?
  let handler: RouteHandler
}

/// The kinds of handlers.
enum RouteHandler: Sendable {
  case inline(Router.Handler)
  case task(Router.AsyncHandler)
  case webSocket(Router.WebSocketRoute)
}
