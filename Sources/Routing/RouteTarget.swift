internal import HTTPProtocol

/// All routes of one service for one pattern, by method.
final class RouteTarget: Sendable {
  let segments: [RoutePattern.Segment]
  /// The pattern, as one of the routes writes it.
  let pattern: String
  let service: RoutedService
  private let routes: [(method: Method, route: Route)]
  /// The value of `Allow`: the sorted methods, with those that are implied.
  let allow: String

  init(
    segments: [RoutePattern.Segment], pattern: String, service: RoutedService,
    routes: [(method: Method, route: Route)]
  ) {
    (self.segments, self.pattern, self.service, self.routes) = (segments, pattern, service, routes)
    var methods = Set(routes.map(\.method))
    if methods.contains(.get) { methods.insert(.head) }
    if service.router.optionsFields != nil { methods.insert(.options) }
    allow = methods.map(\.name).sorted().joined(separator: ", ")
  }

  /// Returns the route for a method. The route for `GET` answers `HEAD` too, unless that has its own.
  func route(for method: Method) -> Route? {
    for (known, route) in routes where known == method { return route }
    guard method == .head else { return nil }
    return self.route(for: .get)
  }
}
