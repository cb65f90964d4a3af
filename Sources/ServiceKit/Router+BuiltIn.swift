internal import HTTPProtocol
public import Observability

extension Router {
  /// The routes of the program itself, for probes: `/healthz`, `/readyz` and `/version`.
  ///
  /// - Parameters:
  ///   - name: the program's name; the routes' service, too.
  ///   - version: the program's version.
  ///   - routers: those of the services, whose readiness checks `/readyz` makes.
  /// - Returns: a router for any host.
  public static func probes(name: String, version: String, checking routers: [Router]) -> Router {
    var router = Router(service: name)
    router.get("/healthz") { _, _ in Response(.ok, type: "text/plain", text: "ok\n") }
    router.get("/version") { _, _ in
      try Response(.ok, json: ["name": name, "version": version])
    }
    router.get("/readyz") { request, _ in
      let reasons = await reasons(against: routers)
      let status: Status = reasons.isEmpty ? .ok : .serviceUnavailable
      var response: Response
      if AcceptList(request.head, .accept).quality(of: "application/json") ?? 0 > 0 {
        response = try Response(status, json: Readiness(ready: reasons.isEmpty, reasons: reasons))
      } else {
        let text = reasons.isEmpty ? "ready\n" : reasons.map { "\($0)\n" }.joined()
        response = Response(status, type: "text/plain; charset=utf-8", text: text)
      }
      response.fields.append(.cacheControl, "no-store")
      return response
    }
    return router
  }

  /// Asks all readiness checks.
  ///
  /// - Parameter routers: those of the services.
  /// - Returns: why the server isn't ready, in words; empty: it is.
  public static func reasons(against routers: [Router]) async -> [String] {
    var reasons: [String] = []
    for router in routers {
      for (name, check) in router.checks {
        if let reason = await check() { reasons.append("\(router.service): \(name): \(reason)") }
      }
    }
    return reasons
  }

  /// The route of the metrics, `/metrics`, in Prometheus' text format.
  ///
  /// - Parameters:
  ///   - name: the program's name; the route's service, too.
  ///   - metrics: what is rendered.
  ///   - onlyLocal: whether only peers on this machine are answered, and of these none that a proxy
  ///     stands in front of: for a listener that the world reaches.
  public static func metrics(name: String, of metrics: Metrics, onlyLocal: Bool) -> Router {
    var router = Router(service: name)
    router.get("/metrics") { request, _ in
      if onlyLocal { try request.requireLocal() }
      return Response(.ok, type: "text/plain; version=0.0.4; charset=utf-8", text: metrics.render())
    }
    return router
  }
}

/// What `/readyz` answers in JSON.
private struct Readiness: Encodable {
  let ready: Bool
  let reasons: [String]
}
