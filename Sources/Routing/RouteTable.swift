package import Formats
internal import Configuration
package import HTTPProtocol
package import HTTPServer
package import Observability

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
  private let log: Log

  /// Compiles routes.
  ///
  /// - Parameters:
  ///   - routers: one for each service. On its hosts, a service takes precedence over one without hosts.
  ///   - bodyLimit: the largest body in bytes, for routes without a limit of their own.
  ///   - proxies: the proxies whose header fields about the origin of requests are believed.
  ///   - log: takes requests (at the level debug) and failures.
  ///   - metrics: counts requests.
  /// - Throws: ``RouteConflict`` if two routes claim the same requests.
  package init(
    _ routers: [Router], bodyLimit: Int = 64 << 10, proxies: TrustedProxies = TrustedProxies([]),
    log: Log, metrics: Metrics = Metrics()
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
    (self.log, self.proxies) = (log, proxies)
  }

  /// Decides whether a peer is a trusted proxy.
  ///
  /// - Parameter peer: the peer's address; nil for a Unix socket.
  package func isProxy(_ peer: IPAddress?) -> Bool { proxies.contains(peer) }

  /// Finds the origin of a request that a trusted proxy passed on.
  ///
  /// - Parameters:
  ///   - head: the request line and the header fields.
  ///   - origin: the proxy's own address.
  /// - Returns: the client's origin.
  package func origin(of head: RequestHead, from origin: RequestOrigin) -> RequestOrigin {
    proxies.origin(of: head, from: origin)
  }

  /// Finds the route of a request, or a response without one.
  ///
  /// - Parameters:
  ///   - head: the request line and the header fields.
  ///   - origin: the client's origin.
  /// - Returns: the way in which the request is to be answered.
  package func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    let path = head.path
    if path.first == UInt8(ascii: "*") { return refuse(options, to: head) }
    let isEncoded = head.isPathEncoded
    if isEncoded && PercentEncoding.decode(path) == nil {
      return refuse(HTTPError(.badRequest, "malformed percent-encoding in the path"), to: head)
    }
    var matches = RouteMatches()
    guard let target = root(for: head).target(of: path, isEncoded: isEncoded, &matches) else {
      return refuse(HTTPError(.notFound), to: head)
    }
    if let route = target.route(for: head.method) { return route.plan(for: head, origin, matches) }
    if head.method == .options, let fields = target.service.router.optionsFields {
      var response = Response(.noContent, fields: fields)
      response.fields.append(.allow, target.allow)
      return refuse(response, to: head, of: target)
    }
    var error = HTTPError(.methodNotAllowed)
    error.fields.append(.allow, target.allow)
    return refuse(target.service.response(error, to: head), to: head, of: target)
  }

  private func root(for head: RequestHead) -> RouteNode {
    guard !hosts.isEmpty else { return anyHost }
    let host = head.host
    return hosts.first { $0.name == host }?.root ?? anyHost
  }

  private func refuse(_ error: HTTPError, to head: RequestHead) -> RequestPlan {
    refuse(ErrorStyle.negotiated.response(error, to: head, adding: HeaderFields()), to: head)
  }

  private func refuse(
    _ response: Response, to head: RequestHead, of target: RouteTarget? = nil
  ) -> RequestPlan {
    unrouted.add(Int(response.status.code))
    let secret = target.flatMap { $0.pattern.contains("{secret}") ? $0.pattern : nil }
    log.debug(
      "request without a route",
      [
        "method": head.method.name,
        "path": secret ?? String(decoding: head.path, as: UTF8.self),
        "status": response.status.code,
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

  /// Merges the routes of several services. A pattern belongs to one service.
  private static func merge(
    _ services: [[RouteTarget]], host: HostName?, _ conflicts: inout [String]
  ) -> [RouteTarget] {
    var merged: [[RoutePattern.Segment]: RouteTarget] = [:]
    for target in services.joined() {
      if let other = merged.updateValue(target, forKey: target.segments) {
        let place = host.map { " at \($0)" } ?? ""
        conflicts.append(
          "\(other.service.router.service) (\(other.pattern)) and \(target.service.router.service) "
            + "(\(target.pattern)) answer the same paths\(place); "
            + "give one of them `hosts` of its own, or switch it off")
      }
    }
    return Array(merged.values)
  }
}
