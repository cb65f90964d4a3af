internal import HTTPProtocol
internal import ServiceKit

/// The reason why a request is not done.
enum RequestRefusal: Error, Hashable, Sendable {
  /// The credentials are wrong, or the act isn't allowed.
  case forbidden
  /// The caller has done this too often, and may try again after some seconds.
  case tooMany(retryAfter: Int)
  /// Too many passwords wait to be checked.
  case busy
  /// The message doesn't fit into a push.
  case tooLong
}

extension RequestRefusal {
  /// The refusal as an HTTP response.
  var httpError: HTTPError {
    switch self {
    case .forbidden: HTTPError(.forbidden)
    case .tooMany(let seconds): HTTPError(.tooManyRequests, retryAfter: seconds)
    case .busy:
      HTTPError(.serviceUnavailable, "too many passwords wait to be checked", retryAfter: 1)
    case .tooLong:
      HTTPError(.contentTooLarge, "the message does not fit into a push of 4,096 bytes")
    }
  }
}
