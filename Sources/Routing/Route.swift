internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Platform

/// A handler with everything that is needed to call it, to count requests and to log failures, made once.
final class Route: Sendable {
  private let service: RoutedService
  private let definition: RouteDefinition
  /// The pattern of a path that isn't logged, which the log has instead; nil for others.
  private let secretPattern: String?
  private let bodyLimit: Int
  private let statuses: CounterTable

  init(_ route: RouteDefinition, of service: RoutedService, bodyLimit: Int, metrics: Metrics) {
    self.service = service
    definition = route
    let isSecret = service.router.hidesPaths || route.pattern.names.contains("secret")
    secretPattern = isSecret ? route.pattern.text : nil
    self.bodyLimit = route.bodyLimit ?? bodyLimit
    statuses = metrics.counters(
      "awd_http_requests_total", "Requests",
      [
        "service": service.router.service, "route": route.pattern.text, "method": route.method.name,
      ],
      by: "status", 100...599)
  }

  /// Decides how a request to this route is answered.
  func plan(
    for head: RequestHead, _ origin: RequestOrigin, _ matches: RouteMatches
  ) -> RequestPlan {
    do throws(HTTPError) {
      try definition.screen?(head, origin)
    } catch { return .refuse(refusal(error, to: head)) }
    var bodyLimit = bodyLimit
    var comesInParts = false
    if case .uploadIf(let condition, let limit, _) = definition.handler, condition(head) {
      comesInParts = true
      bodyLimit = limit
    }
    if case .length(let length) = head.framing, length > bodyLimit {
      return .refuse(tooLarge(head))
    }
    let parameters = RouteParameters(of: head, names: definition.pattern.names, matches: matches)
    switch definition.handler {
    case .inline(let handler): return inlinePlan(parameters, handler)
    case .task(let handler): return taskPlan(parameters, handler)
    case .upload(let handler): return uploadPlan(parameters, upTo: bodyLimit, handler)
    case .uploadIf(_, _, let handler):
      guard comesInParts else {
        return taskPlan(parameters) { request, parameters in
          var head = request
          head.body = []
          return try await handler(head, RequestBody(whole: request.body), parameters)
        }
      }
      return uploadPlan(parameters, upTo: bodyLimit, handler)
    case .stream(let handler):
      return .stream(bodyLimit: bodyLimit) { [self] request in
        let start = ContinuousClock.now
        do {
          let decision = try await taking(turnsOf: request) {
            try await handler(request, parameters)
          }
          switch decision {
          case .respond(let response): return .respond(finish(request, response, start))
          case .open(let opening):
            _ = finish(request, opening.head, start)
            return decision
          }
        } catch { return .respond(fail(request, error, start)) }
      }
    case .either(let isInline, let handler, let otherwise):
      return isInline() ? inlinePlan(parameters, handler) : taskPlan(parameters, otherwise)
    case .webSocket(let accept):
      guard head.isWebSocketUpgrade else {
        var error = HTTPError(.upgradeRequired, "a WebSocket handshake is expected here")
        error.fields.append(.upgrade, "websocket")
        return .refuse(refusal(error, to: head))
      }
      return .webSocket { [self] request in
        let start = ContinuousClock.now
        do {
          let acceptance = try await taking(turnsOf: request) {
            try await accept(request, parameters)
          }
          _ = finish(request, Response(.switchingProtocols), start)
          return .accept(acceptance)
        } catch { return .refuse(fail(request, error, start)) }
      }
    }
  }

  private func inlinePlan(
    _ parameters: RouteParameters, _ handler: @escaping Router.Handler
  ) -> RequestPlan {
    .respond(bodyLimit: bodyLimit) { [self] request in
      let start = ContinuousClock.now
      do {
        return finish(request, try handler(request, parameters), start)
      } catch { return fail(request, error, start) }
    }
  }

  private func uploadPlan(
    _ parameters: RouteParameters, upTo bodyLimit: Int, _ handler: @escaping Router.UploadHandler
  ) -> RequestPlan {
    .upload(bodyLimit: bodyLimit) { [self] request, body in
      let start = ContinuousClock.now
      do {
        let response = try await taking(turnsOf: request) {
          try await handler(request, body, parameters)
        }
        return finish(request, response, start)
      } catch { return fail(request, error, start) }
    }
  }

  private func taskPlan(
    _ parameters: RouteParameters, _ handler: @escaping Router.AsyncHandler
  ) -> RequestPlan {
    .task(bodyLimit: bodyLimit) { [self] request in
      let start = ContinuousClock.now
      do {
        let response = try await taking(turnsOf: request) {
          try await handler(request, parameters)
        }
        return finish(request, response, start)
      } catch { return fail(request, error, start) }
    }
  }

  /// Runs a handler, whose work takes the turns of the request's client.
  private func taking<Value>(
    turnsOf request: Request, _ body: () async throws -> Value
  ) async rethrows -> Value {
    let owner = WorkOwner(client: request.origin.client)
    return try await WorkOwner.$current.withValue(owner, operation: body)
  }

  /// Makes the response to a request with a body that is longer than the limit.
  func tooLarge(_ head: RequestHead) -> Response {
    refusal(HTTPError(.contentTooLarge), to: head)
  }

  /// Makes the response to a request that the handler doesn't get.
  func refusal(_ error: HTTPError, to head: RequestHead) -> Response {
    statuses.add(Int(error.status.code))
    return service.response(error, to: head)
  }

  /// Counts a response, and logs it.
  ///
  /// - Parameters:
  ///   - failure: what has failed inside the server, if something has.
  ///   - refusal: what the client is told, where the handler has refused the request.
  private func finish(
    _ request: Request, _ response: Response, _ start: ContinuousClock.Instant,
    failure: String? = nil, refusal: String? = nil
  ) -> Response {
    let duration = ContinuousClock.now - start
    statuses.add(Int(response.status.code))
    service.latency.observe(duration)
    // A full queue of a client's is no failure of the server's.
    let isUnserved = response.status.code >= 500 && response.status != .insufficientStorage
    guard isUnserved || service.log.writes(.debug) else { return response }
    let log = service.log.with([
      "method": request.head.method.name,
      "path": secretPattern ?? String(decoding: request.head.path, as: UTF8.self),
      "status": response.status.code, "milliseconds": duration, "peer": request.origin.peer,
      "request": request.origin.name,
    ])
    if let failure {
      log.error("request failed", ["cause": failure])
    } else if isUnserved {
      log.warning("request refused", ["cause": refusal ?? "\(response.status.reason)"])
    } else {
      log.debug("request")
    }
    return response
  }

  /// Makes the response to an error of a handler. Internal details stay in the log.
  private func fail(
    _ request: Request, _ error: any Error, _ start: ContinuousClock.Instant
  ) -> Response {
    var answer: HTTPError
    var failure: String?
    switch error {
    case let error as HTTPError:
      answer = error
    case let error as any TemporaryFailure where error.isUnavailable:
      answer = HTTPError(.serviceUnavailable, retryAfter: 1)
      failure = "\(error)"
    case is CancellationError:
      answer = HTTPError(.serviceUnavailable, retryAfter: 1)
      failure = "cancelled"
    default:
      answer = HTTPError(.internalServerError)
      failure = "\(error)"
    }
    if answer.status.code >= 500 { answer.fields.append(.requestID, request.origin.name) }
    let response = service.response(answer, to: request.head)
    return finish(request, response, start, failure: failure, refusal: answer.message)
  }
}

extension RequestOrigin {
  /// The request's name in log lines and responses.
  fileprivate var name: String { String(id, radix: 16) }
}

/// A path with parameters, parsed.
struct RoutePattern: Sendable, Hashable {
  /// The demand on one segment of a path, in the order in which alternatives are tried.
  enum Segment: Sendable, Hashable {
    case literal([UInt8])
    case digits(Int)
    /// Begins with these bytes, which are in lower case; letters match in either case.
    case prefix([UInt8])
    case any
    /// Matches this segment and all behind it.
    case rest
    /// Matches them if the last ends with these bytes.
    case restEnding([UInt8])
  }

  /// The pattern as it was written.
  let text: String
  let segments: [Segment]
  /// The names of the parameters, in the order of the path.
  let names: [String]

  /// Parses a pattern. Patterns are part of the program, so a malformed one is a programming error.
  init(_ text: String) {
    precondition(text.hasPrefix("/"), "the pattern \(text) begins with a slash")
    self.text = text
    var names: [String] = []
    segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
      part in
      guard part.hasPrefix("{"), part.hasSuffix("}") else {
        precondition(!part.contains { "{}%".contains($0) }, "\(part) in \(text) is literal text")
        return .literal(Array(part.utf8))
      }
      let inner = part.dropFirst().dropLast()
      if inner.hasSuffix("...") {
        names.append(String(inner.dropLast(3)))
        return .rest
      }
      if let mark = inner.firstRange(of: "...:suffix("), inner.hasSuffix(")") {
        names.append(String(inner[..<mark.lowerBound]))
        return .restEnding(Array(inner[mark.upperBound...].dropLast().utf8))
      }
      guard let colon = inner.firstIndex(of: ":") else {
        names.append(String(inner))
        return .any
      }
      names.append(String(inner[..<colon]))
      let constraint = inner[inner.index(after: colon)...]
      if constraint.hasPrefix("digits("), constraint.hasSuffix(")"),
        let count = Int(constraint.dropFirst(7).dropLast()), count > 0
      {
        return .digits(count)
      }
      if constraint.hasPrefix("prefix("), constraint.hasSuffix(")"), constraint.utf8.count > 8 {
        return .prefix(Array(constraint.dropFirst(7).dropLast().lowercased().utf8))
      }
      preconditionFailure("unknown constraint \(constraint) in \(text)")
    }
    let isRestInside = segments.dropLast().contains { segment in
      switch segment {
      case .rest, .restEnding: true
      default: false
      }
    }
    precondition(!isRestInside, "{…...} ends the pattern \(text)")
    precondition(names.count <= RouteParameters.limit, "too many parameters in \(text)")
    precondition(Set(names).count == names.count, "a name is used twice in \(text)")
    self.names = names
  }
}

/// The parts of a request's path that the parameters of its route's pattern matched.
///
/// They are ranges of the path. Reading one allocates nothing unless it is percent-encoded.
package struct RouteParameters: Sendable {
  /// The largest number of parameters of a pattern.
  static let limit = 4

  private let path: ArraySlice<UInt8>
  private let isEncoded: Bool
  private let names: [String]
  private let matches: RouteMatches

  init(of head: RequestHead, names: [String], matches: RouteMatches) {
    path = head.path
    isEncoded = head.isPathEncoded
    self.names = names
    self.matches = matches
  }

  /// The bytes that a parameter matched, percent-decoded.
  ///
  /// - Parameter name: the parameter's name in the pattern. An unknown name gives no bytes.
  package subscript(name: String) -> ArraySlice<UInt8> {
    guard let index = names.firstIndex(of: name) else { return [] }
    let bytes = path[matches[index]]
    return isEncoded ? PercentEncoding.decode(bytes).map { $0[...] } ?? bytes : bytes
  }

  /// Returns the text that a parameter matched, percent-decoded.
  ///
  /// - Returns: the text, or nil if it is not UTF-8.
  package func text(_ name: String) -> String? { String(validating: self[name], as: UTF8.self) }
}

/// The places of the parameters in a path, kept without an allocation.
struct RouteMatches: Sendable {
  private var starts: InlineArray<4, Int> = .init(repeating: 0)
  private var ends: InlineArray<4, Int> = .init(repeating: 0)
  private var count = 0

  subscript(index: Int) -> Range<Int> { index < count ? starts[index]..<ends[index] : 0..<0 }

  mutating func append(_ range: Range<Int>) {
    starts[count] = range.lowerBound
    ends[count] = range.upperBound
    count += 1
  }

  mutating func removeLast() { count -= 1 }
}
