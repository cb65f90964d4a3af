internal import HTTPProtocol
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

  /// Sends what a stream's peer wants sent.
  ///
  /// - Parameters:
  ///   - text: `{"UserTo","Message"}`.
  ///   - identity: whose stream it is.
  ///   - token: what it was opened with.
  /// - Returns: the answer in JSON: `{"Id"}` or `{"error","status"}`.
  func answer(toStreamed text: [UInt8], of identity: Identity, token: TokenHash) async -> [UInt8] {
    do {
      let fields = try FieldValues(json: text)
      let id = try await send(
        try fields.message(), to: try fields.name(.userTo),
        by: .token(token, claiming: fields.has(.userFrom) ? try fields.name(.userFrom) : nil),
        from: ClientAddress(peer: ""))
      return try JSONText.of(Sent(Id: id.text))
    } catch {
      return answer(to: error)
    }
  }

  private func answer(to error: any Error) -> [UInt8] {
    let answer: NotSent
    switch error {
    case let error as FieldError:
      answer = NotSent(error: error.sentence, field: error.field?.rawValue, status: 400)
    case let refusal as Refusal:
      let error = refusal.httpError
      answer = NotSent(error: error.message, status: Int(error.status.code))
    case let error as StoreError where error.isUnavailable:
      log.error("streamed message not taken", ["cause": "\(error)"])
      answer = NotSent(error: "Service Unavailable", status: 503)
    default:
      log.error("streamed message not taken", ["cause": "\(error)"])
      answer = NotSent(error: "Internal Server Error", status: 500)
    }
    // Encoding text doesn't fail.
    return (try? JSONText.of(answer)) ?? []
  }
}
