internal import HTTPProtocol
internal import MsgrMessages
internal import Observability
internal import ServiceKit
internal import Storage

extension MessageService {
  private struct Sent: Encodable {
    let Id: String
  }

  private struct NotSent: Encodable {
    let error: String
    var field: String?
    let status: Int
  }

  /// Sends a message that came on a stream.
  ///
  /// - Parameters:
  ///   - text: `{"UserTo","Message"}`.
  ///   - token: the hash of the token that the stream was opened with.
  /// - Returns: the reply in JSON, `{"Id"}` or `{"error","status"}`.
  func send(streamed text: [UInt8], with token: TokenHash) async -> [UInt8] {
    do {
      let fields = try FieldValues(json: text)
      let id = try await send(
        try fields.message(), to: try fields.name(.userTo),
        by: .token(token, claiming: fields.has(.userFrom) ? try fields.name(.userFrom) : nil))
      return try JSONText.of(Sent(Id: id.text))
    } catch {
      // Text can always be encoded.
      return (try? JSONText.of(notSent(error))) ?? []
    }
  }

  private func notSent(_ error: any Error) -> NotSent {
    switch error {
    case let error as FieldError:
      return NotSent(error: error.sentence, field: error.field?.rawValue, status: 400)
    case let refusal as RequestRefusal:
      let error = refusal.httpError
      return NotSent(error: error.message, status: Int(error.status.code))
    case let error as StoreError where error.isUnavailable:
      log.error("streamed message not taken", ["cause": "\(error)"])
      return NotSent(error: "Service Unavailable", status: 503)
    default:
      log.error("streamed message not taken", ["cause": "\(error)"])
      return NotSent(error: "Internal Server Error", status: 500)
    }
  }
}
