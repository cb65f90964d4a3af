internal import HTTPProtocol
internal import Observability
internal import WebApps
internal import Routing
internal import ServiceKit

/// The routes of the status page.
struct StatusRoutes: Sendable {
  private static let interval = Duration.seconds(5)
  private static let capacity = 120

  private let history = MetricHistory(
    // A series for each route would be too many to look at.
    interval: interval, capacity: capacity, summingOver: ["route", "method"])
  private let start = ContinuousClock.now
  /// The services that are on.
  let services: [String]
  /// The metrics to show.
  let metrics: Metrics

  /// Records the metrics at even intervals, until cancelled.
  func run() async {
    while !Task.isCancelled {
      history.record(metrics.samples())
      try? await Task.sleep(for: Self.interval)
    }
  }

  /// Makes the router of the page.
  ///
  /// - Parameters:
  ///   - access: tells which requests are answered.
  ///   - isAlone: whether the listener is there for the operator alone. Then `/` redirects to the page.
  ///   - reasons: gives the reasons why the server isn't ready.
  func router(
    for access: OperatorAccess, isAlone: Bool, reasons: @escaping @Sendable () async -> [String]
  ) -> Router {
    var router = Router(service: Product.name)
    router.get(StatusPage.path) { request, _ in
      try access.check(request)
      let page = StatusPage(
        version: Product.version, uptime: ContinuousClock.now - start, services: services,
        reasons: await reasons(), history: history.series, capacity: Self.capacity,
        span: min(ContinuousClock.now - start, Self.interval * Self.capacity))
      var response = Response(page: page.html, .status)
      response.fields.append(.cacheControl, "no-store")
      return response
    }
    if isAlone {
      router.get("/") { _, _ in
        var response = Response(.seeOther)
        response.fields.append(.location, StatusPage.path)
        return response
      }
    }
    return router
  }
}
