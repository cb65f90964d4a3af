internal import HTTPProtocol
internal import Observability

/// The common properties of all routes of a service.
struct RoutedService: Sendable {
  let name: String
  let errorStyle: ErrorStyle
  let errorFields: HeaderFields
  let optionsFields: HeaderFields?
  let log: Log
  let latency: Histogram

  init(_ router: Router, log: Log, metrics: Metrics) {
    name = router.service
    errorStyle = router.errorStyle
    errorFields = router.errorFields
    optionsFields = router.optionsFields
    self.log = log.with(["service": router.service])
    latency = metrics.histogram(
      "awd_http_request_duration_seconds", "Duration of a request",
      ["service": router.service])
  }

  /// Makes the response to a failure, in the service's style.
  func response(_ error: HTTPError, to head: RequestHead) -> Response {
    errorStyle.response(error, to: head, adding: errorFields)
  }
}
