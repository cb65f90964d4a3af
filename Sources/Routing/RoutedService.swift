internal import HTTPProtocol
internal import Observability

/// The common properties of all routes of a service.
struct RoutedService: Sendable {
  /// The router of the service, which names it and states the style of its errors.
  let router: Router
  let log: Log
  let latency: Histogram

  init(_ router: Router, log: Log, metrics: Metrics) {
    self.router = router
    self.log = log.with(["service": router.service])
    latency = metrics.histogram(
      "awd_http_request_duration_seconds", "Duration of a request",
      ["service": router.service])
  }

  /// Makes the response to a failure, in the service's style.
  func response(_ error: HTTPError, to head: RequestHead) -> Response {
    router.errorStyle.response(error, to: head, adding: router.errorFields)
  }
}
