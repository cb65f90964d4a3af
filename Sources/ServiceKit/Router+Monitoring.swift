package import Observability
package import Routing

internal import HTTPProtocol

extension Router {
  /// Makes the program's own routes for probes: `/healthz`, `/readyz` and `/version`.
  ///
  /// - Parameter routers: the services' routers, whose readiness checks `/readyz` makes.
  /// - Returns: a router for any host.
  package static func probes(checking routers: [Router]) -> Router {
    var router = Router(service: Product.name)
    router.get("/healthz") { _, _ in Response(.ok, type: "text/plain", text: "ok\n") }
    router.get("/version") { _, _ in
      try Response(
        .ok,
        json: [
          "name": Product.name, "version": Product.version, "commit": Product.commit,
          "date": Product.date, "buildDate": Product.date,
        ])
    }
    router.get("/readyz") { request, _ in
      let reasons = await unreadinessReasons(of: routers)
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

  /// Makes all readiness checks.
  ///
  /// - Returns: the reasons why the server isn't ready; none if it is.
  package static func unreadinessReasons(of routers: [Router]) async -> [String] {
    var reasons: [String] = []
    for router in routers {
      for (name, check) in router.checks {
        if let reason = await check() { reasons.append("\(router.service): \(name): \(reason)") }
      }
    }
    return reasons
  }

  /// Makes the route of the metrics, `/metrics`, in Prometheus' text format.
  ///
  /// - Parameter access: decides which requests are answered.
  package static func metrics(_ metrics: Metrics, for access: OperatorAccess) -> Router {
    var router = Router(service: Product.name)
    router.get("/metrics") { request, _ in
      try access.check(request)
      return Response(.ok, type: "text/plain; version=0.0.4; charset=utf-8", text: metrics.render())
    }
    return router
  }
}

/// The JSON response of `/readyz`.
private struct Readiness: Encodable {
  let ready: Bool
  let reasons: [String]
}
