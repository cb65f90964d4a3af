public import HTTPClient
internal import HTTPProtocol

/// Why the server didn't do what it was asked. No password, token or message stands in it.
public enum MsgrError: Error, Hashable, Sendable {
  /// A field is missing, empty, too long, or has characters that aren't allowed (400); which one,
  /// and what is wrong with it, in words for developers.
  case invalid(field: String?, message: String)
  /// The name, the password or the token is wrong, the other user isn't known, or the act isn't
  /// allowed (403). The server doesn't tell which.
  case forbidden
  /// The message is too long for a push of 4,096 bytes (413).
  case messageTooLong
  /// Too many failed logins, or too many messages in a minute (429); how long to wait, if the
  /// server says.
  case tooOften(retryAfter: Duration?)
  /// The server can't do it now (503); how long to wait, if it says. Nothing was done.
  case unavailable(retryAfter: Duration?)
  /// An answer that the protocol doesn't have: another status, or a body that can't be read.
  case unexpected(status: Int)
  /// No answer came. Unless nobody was reached, the server may have done what it was asked.
  case noAnswer(HTTPClientError)
  /// A stream isn't there, or no longer.
  case disconnected(WebSocketError)
}

extension MsgrError {
  /// The error that an answer stands for; nil for 200.
  init?(_ answer: IncomingResponse) {
    guard answer.status != .ok else { return nil }
    let fault = MsgrJSON.decode(Fault.self, answer.body)
    self.init(
      status: Int(answer.status.code), field: fault?.field, message: fault?.error ?? "",
      retryAfter: answer.fields.first(.retryAfter).flatMap { UInt16($0) }.map { .seconds(Int($0)) })
  }

  private struct Fault: Decodable {
    let error: String
    let field: String?
  }

  /// The error that a status stands for.
  init(status: Int, field: String? = nil, message: String, retryAfter: Duration? = nil) {
    switch status {
    case 400: self = .invalid(field: field, message: message)
    case 403: self = .forbidden
    case 413: self = .messageTooLong
    case 429: self = .tooOften(retryAfter: retryAfter)
    case 503: self = .unavailable(retryAfter: retryAfter)
    default: self = .unexpected(status: status)
    }
  }
}
