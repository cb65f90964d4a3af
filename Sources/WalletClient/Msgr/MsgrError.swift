public import HTTPClient
public import HTTPProtocol

/// A reason for which the server didn't do what it was asked. It contains no password, token or message.
public enum MsgrError: Error, Hashable, Sendable {
  /// A field is missing, empty, too long, or has characters that aren't allowed (400). The message says so in words for
  /// developers.
  case invalid(field: String?, message: String)
  /// The name, the password or the token is wrong, the other user isn't known, or the act isn't allowed (403). The
  /// server doesn't tell which.
  case forbidden
  /// The name that the client gave a message was another message's (409).
  case conflict
  /// The message is too long for a push of 4,096 bytes (413).
  case messageTooLong
  /// There were too many failed logins, or too many messages in a minute (429). The time to wait is nil if the server
  /// states none.
  case tooOften(retryAfter: Duration?)
  /// The server can't do it now (503), and has done nothing. The time to wait is nil if it states none.
  case unavailable(retryAfter: Duration?)
  /// The response is none of the protocol's: another status, or a body that can't be read.
  case unexpected(status: Int)
  /// No response came. Unless nobody was reached, the server may have done what it was asked.
  case noResponse(HTTPClientError)
  /// A stream isn't there, or no longer.
  case disconnected(WebSocketError)
}

extension MsgrError {
  /// Makes the error of a response, or returns nil for status 200.
  init?(_ response: IncomingResponse) {
    guard response.status != .ok else { return nil }
    let fault = MsgrJSON.decode(MsgrFault.self, response.body)
    self.init(
      status: Int(response.status.code), field: fault?.field, message: fault?.error ?? "",
      retryAfter: response.fields.first(.retryAfter).flatMap { UInt16($0) }
        .map { .seconds(Int($0)) })
  }

  /// Makes the error of a status.
  init(status: Int, field: String? = nil, message: String, retryAfter: Duration? = nil) {
    switch status {
    case 400: self = .invalid(field: field, message: message)
    case 403: self = .forbidden
    case 409: self = .conflict
    case 413: self = .messageTooLong
    case 429: self = .tooOften(retryAfter: retryAfter)
    case 503: self = .unavailable(retryAfter: retryAfter)
    default: self = .unexpected(status: status)
    }
  }
}

/// A refusal in JSON.
struct MsgrFault: Decodable {
  let error: String
  let field: String?
  /// The status, which a stream's refusal has within.
  let status: Int?
}
