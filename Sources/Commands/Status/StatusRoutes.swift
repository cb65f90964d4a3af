internal import HTTPProtocol
internal import Observability
internal import ServiceKit

/// The routes of the status page.
struct StatusRoutes: Sendable {
  private static let interval = Duration.seconds(5)
  private static let capacity = 120

  private let history = MetricHistory(
    interval: interval, capacity: capacity, keeping: ["service", "state", "cause"])
  private let start = ContinuousClock.now
  private let services: [String]
  private let metrics: Metrics

  /// The routes of a server.
  ///
  /// - Parameters:
  ///   - services: the services that are on.
  ///   - metrics: what is shown.
  init(services: [String], metrics: Metrics) {
    self.services = services
    self.metrics = metrics
  }

  /// Takes note of the metrics again and again, until cancelled.
  func run() async {
    while !Task.isCancelled {
      history.record(metrics.samples())
      try? await Task.sleep(for: Self.interval)
    }
  }

  /// The page at `/status`.
  ///
  /// - Parameters:
  ///   - onlyLocal: whether only peers on this machine are answered: for a listener that the world
  ///     reaches. Where not, `/` leads to the page.
  ///   - reasons: tells why the server isn't ready.
  func router(
    onlyLocal: Bool, reasons: @escaping @Sendable () async -> [String]
  ) -> Router {
    var router = Router(service: Product.name)
    router.get(StatusPage.path) { request, _ in
      if onlyLocal { try request.requireLocal() }
      let page = StatusPage(
        version: Product.version, uptime: ContinuousClock.now - start, services: services,
        reasons: await reasons(), history: history.series, capacity: Self.capacity,
        span: min(ContinuousClock.now - start, Self.interval * Self.capacity))
      var response = Response(.ok, type: "text/html; charset=utf-8", text: page.html)
      response.fields.append(.cacheControl, "no-store")
      response.fields.append(.contentTypeOptions, "nosniff")
      response.fields.append(.contentSecurityPolicy, StatusStyle.contentSecurityPolicy)
      response.fields.append(.referrerPolicy, "no-referrer")
      return response
    }
    if !onlyLocal {
      router.get("/") { _, _ in
        var response = Response(.seeOther)
        response.fields.append(.location, StatusPage.path)
        return response
      }
    }
    return router
  }
}
