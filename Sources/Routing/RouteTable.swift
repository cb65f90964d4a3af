package import Formats
package import HTTPProtocol
package import HTTPServer
package import Observability

internal import Configuration

/// The compiled routes of all services, which answer the requests of a server.
///
/// The table is immutable, so that event loops read it without a lock.
package final class RouteTable: Responder {
  private let hosts: [(name: String, root: RouteNode)]
  private let anyHost: RouteNode
  /// The response to `OPTIONS *`.
  private let options: Response
  private let unrouted: CounterTable
  private let proxies: TrustedProxies
  /// The page at `/` for browsers, in place of a service's own.
  private let frontDoor: Response?
  private let log: Log

  /// Compiles routes.
  ///
  /// - Parameters:
  ///   - routers: one for each service. On its hosts, a service takes precedence over one without hosts.
  ///   - bodyLimit: the largest body in bytes, for routes without a limit of their own.
  ///   - proxies: the proxies whose header fields about the origin of requests are believed.
  ///   - frontDoor: the page at `/` for browsers, except on hosts that are a service's own; nil for none.
  /// - Throws: ``RouteConflict`` if two routes claim the same requests.
  package init(
    _ routers: [Router], bodyLimit: Int = 64 << 10, proxies: TrustedProxies = TrustedProxies([]),
    frontDoor: Response? = nil, log: Log, metrics: Metrics = Metrics()
  ) throws(RouteConflict) {
    var conflicts: [String] = []
    let services = routers.map { router in
      (
        router: router,
        targets: Self.targets(
          of: router, bodyLimit: bodyLimit, log: log, metrics: metrics, &conflicts)
      )
    }
    let general = Self.merge(
      services.filter { $0.router.hosts.isEmpty }.map(\.targets), host: nil, &conflicts)
    anyHost = RouteNode(general)
    hosts = Set(routers.flatMap(\.hosts)).map { host in
      let own = Self.merge(
        services.filter { $0.router.hosts.contains(host) }.map(\.targets), host: host, &conflicts)
      let taken = Set(own.map(\.segments))
      return (host.description, RouteNode(own + general.filter { !taken.contains($0.segments) }))
    }
    guard conflicts.isEmpty else { throw RouteConflict(conflicts: conflicts) }

    let methods = services.flatMap { $0.targets.flatMap { $0.allow.split(separator: ", ") } }
    var options = Response(.noContent)
    options.fields.append(.allow, Set(methods).sorted().joined(separator: ", "))
    self.options = options
    unrouted = metrics.counters(
      "awd_http_requests_total", "Requests",
      ["service": "none", "route": "none", "method": "any"], by: "status", 100...599)
    self.log = log
    self.proxies = proxies
    self.frontDoor = frontDoor
  }

  /// Decides whether a peer is a trusted proxy.
  ///
  /// - Parameter peer: the peer's address; nil for a Unix socket.
  package func isProxy(_ peer: IPAddress?) -> Bool { proxies.contains(peer) }

  /// Finds the origin of a request that a trusted proxy passed on.
  ///
  /// - Returns: the client's origin.
  package func origin(of head: RequestHead, from origin: RequestOrigin) -> RequestOrigin {
    proxies.origin(of: head, from: origin)
  }

  /// Finds the route of a request, or a response without one.
  ///
  /// - Returns: the way in which the request is to be answered.
  package func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    let path = head.path
    if path.first == UInt8(ascii: "*") { return refuse(options, to: head, from: origin) }
    let isEncoded = head.isPathEncoded
    if isEncoded && PercentEncoding.decode(path) == nil {
      return refuse(
        HTTPError(.badRequest, "malformed percent-encoding in the path"), to: head, from: origin)
    }
    if let frontDoor, isForFrontDoor(head) { return refuse(frontDoor, to: head, from: origin) }
    var matches = RouteMatches()
    guard let target = root(for: head).target(of: path, isEncoded: isEncoded, &matches) else {
      return refuse(HTTPError(.notFound), to: head, from: origin)
    }
    if let route = target.route(for: head.method) { return route.plan(for: head, origin, matches) }
    if head.method == .options, let fields = target.service.router.optionsFields {
      var response = Response(.noContent, fields: fields)
      response.fields.append(.allow, target.allow)
      return refuse(response, to: head, from: origin, of: target)
    }
    // Whether a page may call isn't that there is something.
    guard !target.answersOptionsAlone else {
      return refuse(HTTPError(.notFound), to: head, from: origin)
    }
    var error = HTTPError(.methodNotAllowed)
    error.fields.append(.allow, target.allow)
    return refuse(
      target.service.response(error, to: head), to: head, from: origin, of: target)
  }

  /// Makes the response to a request whose body is longer than its route takes, in the service's style.
  package func tooLarge(_ head: RequestHead) -> Response {
    var matches = RouteMatches()
    let target = root(for: head).target(of: head.path, isEncoded: head.isPathEncoded, &matches)
    return target?.route(for: head.method)?.tooLarge(head) ?? Response(.contentTooLarge)
  }

  /// Whether a browser asks for `/` alone. Programs that ask for JSON, XML or anything at all get a service's response, and
  /// so does a request with a query.
  private func isForFrontDoor(_ head: RequestHead) -> Bool {
    head.path.elementsEqual("/".utf8) && head.query == nil && head.isForPage
      && !isHostOfService(head)
  }

  private func isHostOfService(_ head: RequestHead) -> Bool {
    let host = head.host
    return hosts.contains { $0.name == host }
  }

  private func root(for head: RequestHead) -> RouteNode {
    guard !hosts.isEmpty else { return anyHost }
    let host = head.host
    return hosts.first { $0.name == host }?.root ?? anyHost
  }

  private func refuse(
    _ error: HTTPError, to head: RequestHead, from origin: RequestOrigin
  ) -> RequestPlan {
    let response = ErrorStyle.negotiated.response(error, to: head, adding: HeaderFields())
    return refuse(response, to: head, from: origin)
  }

  private func refuse(
    _ response: Response, to head: RequestHead, from origin: RequestOrigin,
    of target: RouteTarget? = nil
  ) -> RequestPlan {
    unrouted.add(Int(response.status.code))
    let secret = target.flatMap { $0.pattern.contains("{secret}") ? $0.pattern : nil }
    log.debug(
      "request without a route",
      [
        "method": head.method.name,
        "path": secret ?? String(decoding: head.path, as: UTF8.self),
        "status": response.status.code, "peer": origin.peer,
      ])
    return .refuse(response)
  }
}

// MARK: - Compiling

extension RouteTable {
  /// Groups the routes of a service by the segments of their patterns.
  private static func targets(
    of router: Router, bodyLimit: Int, log: Log, metrics: Metrics, _ conflicts: inout [String]
  ) -> [RouteTarget] {
    let service = RoutedService(router, log: log, metrics: metrics)
    var targets: [RouteTarget] = []
    for (segments, routes) in Dictionary(grouping: router.routes, by: \.pattern.segments) {
      for (method, same) in Dictionary(grouping: routes, by: \.method) where same.count > 1 {
        let patterns = same.map(\.pattern.text).joined(separator: " and ")
        conflicts.append("\(router.service) answers \(method.name) twice: \(patterns)")
      }
      targets.append(
        RouteTarget(
          segments: segments, pattern: routes[0].pattern.text, service: service,
          routes: routes.map { route in
            (route.method, Route(route, of: service, bodyLimit: bodyLimit, metrics: metrics))
          }))
    }
    return targets
  }

  /// Merges the routes of several services. A method of a pattern belongs to one service.
  private static func merge(
    _ services: [[RouteTarget]], host: HostName?, _ conflicts: inout [String]
  ) -> [RouteTarget] {
    var merged: [[RoutePattern.Segment]: RouteTarget] = [:]
    for target in services.joined() {
      guard let other = merged[target.segments] else {
        merged[target.segments] = target
        continue
      }
      merged[target.segments] = other.adding(target)
      guard other.sharesMethods(with: target) else { continue }
      let place = host.map { " at \($0)" } ?? ""
      conflicts.append(
        "\(other.service.router.service) (\(other.pattern)) and \(target.service.router.service) "
          + "(\(target.pattern)) answer the same paths\(place); "
          + "give one of them `hosts` of its own, or switch it off")
    }
    return Array(merged.values)
  }
}

/// A segment of all patterns that begin alike. Paths are looked up in an immutable tree of these.
final class RouteNode: Sendable {
  private let literals: [(bytes: [UInt8], node: RouteNode)]
  private let digits: [(count: Int, node: RouteNode)]
  /// The longest prefix comes first.
  private let prefixes: [(bytes: [UInt8], node: RouteNode)]
  private let any: RouteNode?
  private let rest: RouteTarget?
  private let endings: [(bytes: [UInt8], target: RouteTarget)]
  private let target: RouteTarget?

  /// Builds the tree below a node.
  ///
  /// - Parameter targets: the targets of the patterns. No two have the same segments.
  init(_ targets: [RouteTarget], depth: Int = 0) {
    target = targets.first { $0.segments.count == depth }
    rest = targets.first { $0.segments.count == depth + 1 && $0.segments[depth] == .rest }
    endings = targets.compactMap { target in
      guard target.segments.count == depth + 1, case .restEnding(let bytes) = target.segments[depth]
      else { return nil }
      return (bytes, target)
    }
    let deeper = Dictionary(grouping: targets.filter { $0.segments.count > depth }) {
      $0.segments[depth]
    }
    var literals: [(bytes: [UInt8], node: RouteNode)] = []
    var digits: [(count: Int, node: RouteNode)] = []
    var prefixes: [(bytes: [UInt8], node: RouteNode)] = []
    var any: RouteNode?
    for (segment, below) in deeper {
      switch segment {
      case .literal(let bytes): literals.append((bytes, RouteNode(below, depth: depth + 1)))
      case .digits(let count): digits.append((count, RouteNode(below, depth: depth + 1)))
      case .prefix(let bytes): prefixes.append((bytes, RouteNode(below, depth: depth + 1)))
      case .any: any = RouteNode(below, depth: depth + 1)
      case .rest, .restEnding: break
      }
    }
    self.literals = literals
    self.digits = digits
    self.prefixes = prefixes.sorted { $0.bytes.count > $1.bytes.count }
    self.any = any
  }

  /// Finds the target of a path.
  ///
  /// - Parameters:
  ///   - path: the rest of the path: empty behind the last segment, else with a slash at its start.
  ///   - isEncoded: whether the path holds a `%`. All of them are well-formed.
  /// - Returns: the best match, or nil if there is none.
  func target(
    of path: ArraySlice<UInt8>, isEncoded: Bool, _ matches: inout RouteMatches
  ) -> RouteTarget? {
    guard !path.isEmpty else { return target }
    let start = path.startIndex + 1
    let end = path[start...].first(at: UInt8(ascii: "/")) ?? path.endIndex
    let raw = path[start..<end]
    let segment = isEncoded ? PercentEncoding.decode(raw).map { $0[...] } ?? raw : raw
    let behind = path[end...]

    for (bytes, node) in literals where bytes.count == segment.count && segment.elementsEqual(bytes)
    {
      if let found = node.target(of: behind, isEncoded: isEncoded, &matches) { return found }
    }
    guard !segment.isEmpty, !Self.isDots(segment) else { return nil }
    for (count, node) in digits where segment.count == count && segment.allSatisfy(Self.isDigit) {
      matches.append(start..<end)
      if let found = node.target(of: behind, isEncoded: isEncoded, &matches) { return found }
      matches.removeLast()
    }
    for (bytes, node) in prefixes where Self.begins(segment, with: bytes) {
      matches.append(start..<end)
      if let found = node.target(of: behind, isEncoded: isEncoded, &matches) { return found }
      matches.removeLast()
    }
    if let any {
      matches.append(start..<end)
      if let found = any.target(of: behind, isEncoded: isEncoded, &matches) { return found }
      matches.removeLast()
    }
    guard let found = restTarget(of: path, isEncoded: isEncoded), !Self.hasDots(path) else {
      return nil
    }
    matches.append(start..<path.endIndex)
    return found
  }

  /// Returns the target of all that is left of a path.
  private func restTarget(of path: ArraySlice<UInt8>, isEncoded: Bool) -> RouteTarget? {
    guard !endings.isEmpty else { return rest }
    let plain = isEncoded ? PercentEncoding.decode(path).map { $0[...] } ?? path : path
    return endings.first { plain.suffix($0.bytes.count).elementsEqual($0.bytes) }?.target ?? rest
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func begins(_ segment: ArraySlice<UInt8>, with prefix: [UInt8]) -> Bool {
    segment.count >= prefix.count
      && zip(segment, prefix).allSatisfy { byte, expected in
        byte == expected || expected >= UInt8(ascii: "a") && byte | 0x20 == expected
      }
  }

  /// Returns whether a segment is `.` or `..`. Clients resolve these before they send (RFC 3986 section 5.2.4): one that
  /// is sent is meant to lead where it shouldn't.
  private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
    segment.count <= 2 && segment.allSatisfy { $0 == UInt8(ascii: ".") }
  }

  private static func hasDots(_ path: ArraySlice<UInt8>) -> Bool {
    (PercentEncoding.decode(path) ?? Array(path)).split(separator: UInt8(ascii: "/"))
      .contains(where: isDots)
  }
}

/// All routes of one service for one pattern, by method.
final class RouteTarget: Sendable {
  let segments: [RoutePattern.Segment]
  /// The pattern, as one of the routes writes it.
  let pattern: String
  let service: RoutedService
  private let routes: [(method: Method, route: Route)]
  /// True if there is nothing but what tells pages whether they may call.
  let answersOptionsAlone: Bool
  /// The value of `Allow`: the sorted methods, with those that are implied.
  let allow: String

  init(
    segments: [RoutePattern.Segment], pattern: String, service: RoutedService,
    routes: [(method: Method, route: Route)]
  ) {
    self.segments = segments
    self.pattern = pattern
    self.service = service
    self.routes = routes
    answersOptionsAlone = routes.allSatisfy { $0.method == .options }
    var methods = Set(routes.map(\.method))
    if methods.contains(.get) { methods.insert(.head) }
    if service.router.optionsFields != nil { methods.insert(.options) }
    allow = methods.map(\.name).sorted().joined(separator: ", ")
  }

  /// Returns whether both answer a method.
  func sharesMethods(with other: RouteTarget) -> Bool {
    !Set(routes.map(\.method)).isDisjoint(with: other.routes.map(\.method))
  }

  /// Returns a target that answers another service's methods as well.
  func adding(_ other: RouteTarget) -> RouteTarget {
    RouteTarget(
      segments: segments, pattern: pattern, service: service, routes: routes + other.routes)
  }

  /// Returns the route for a method. The route for `GET` answers `HEAD` too, unless that has its own.
  func route(for method: Method) -> Route? {
    for (known, route) in routes where known == method { return route }
    guard method == .head else { return nil }
    return self.route(for: .get)
  }
}

/// Routes that claim the same requests.
package struct RouteConflict: Error, Equatable, CustomStringConvertible {
  /// The conflicts in words that name the services and patterns.
  package let conflicts: [String]

  /// The conflicts, one a line.
  package var description: String { conflicts.sorted().joined(separator: "\n") }
}
