import HTTPProtocol
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
    let checks = routers.flatMap { router in
      router.checks.map { (name: "\(router.service): \($0.name)", check: $0.check) }
    }
    router.get("/readyz") { request, _ in
      var reasons: [String] = []
      for (name, check) in checks {
        if let reason = await check() { reasons.append("\(name): \(reason)") }
      }
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
      guard !onlyLocal || request.isLocal else {
        throw HTTPError(.forbidden, "only answered on the machine itself")
      }
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

extension Request {
  /// Whether it was sent on this machine, and not through a proxy that says so.
  fileprivate var isLocal: Bool {
    guard head.value(.xForwardedFor) == nil else { return false }
    let peer = origin.peer
    // Loopback of both families, IPv4 mapped into IPv6, or the empty address of a Unix socket.
    return peer.isEmpty || peer == "::1" || peer.hasPrefix("127.") || peer.hasPrefix("::ffff:127.")
  }
}
