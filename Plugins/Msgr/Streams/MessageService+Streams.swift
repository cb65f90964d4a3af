internal import HTTPProtocol
internal import MsgrMessages
internal import Observability
internal import ServiceKit
internal import Storage

extension MessageService {
  /// Identifies the peer of a stream, and decides where the stream begins.
  ///
  /// - Parameters:
  ///   - hash: the hash of the peer's token.
  ///   - position: the message that the peer has come to, or nil if it wants new messages only.
  /// - Returns: the token, and the message after which the stream begins.
  func beginStream(
    _ hash: TokenHash, since position: MessageID?
  ) async throws -> (BoundToken, start: MessageID) {
    let (token, last) = try await authenticator.perform(as: .token(hash, claiming: nil)) { caller in
      guard case .token(let token) = caller else { throw RequestRefusal.forbidden }
      return (token, try await store.lastID(as: caller))
    }
    if let position { try await store.noteSeen(upTo: position, by: token.name) }
    return (token, position ?? last)
  }

  /// Reads on in a stream's inbox.
  ///
  /// - Returns: the messages after a position in JSON, the last of them if there is one, and whether there may be more
  ///   after it; or nil if they can't be read, which is logged.
  func read(
    inboxOf name: UserName, after position: MessageID
  ) async -> (texts: [[UInt8]], last: MessageID?, mayBeMore: Bool)? {
    do {
      let page = try await store.page(of: name, after: position)
      return (try page.map(JSONText.of), page.last?.id, page.count == MsgrStore.pageSize)
    } catch {
      log.error("stream ended: its inbox can't be read", ["cause": "\(error)"])
      return nil
    }
  }

  /// Notes which messages a stream's peer has, so that they need no push.
  func confirm(_ cursor: InboxCursor, of token: BoundToken) {
    Task { await settle(cursor, of: token) { nil } }
  }

  /// Removes a stream that is over, and has the messages pushed that it may not have delivered.
  func leave(_ stream: MessageStream, _ cursor: InboxCursor) {
    hub.remove(stream)
    let token = stream.token
    Task {
      await settle(cursor, of: token) {
        guard token.device.isPushable else { return nil }
        // Messages after the last one are not this stream's. The device may be back already: the hub is asked after the
        // store, so that it knows each stream that messages up to the last one were held for.
        let last = try await store.lastID()
        return min(hub.firstStart(of: token.device) ?? .last, last)
      }
      outbox.wake()
    }
  }

  private func settle(
    _ cursor: InboxCursor, of token: BoundToken, releasedTo: () async throws -> MessageID?
  ) async {
    do {
      try await store.settle(cursor, of: token, releasedTo: try await releasedTo())
    } catch {
      // A push is held for a while only: at worst one is sent for a message that the peer has.
      log.warning("the messages that a stream has delivered can't be noted", ["cause": "\(error)"])
    }
  }

  // MARK: - Sends

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
      return id.json
    } catch {
      let failure = HTTPError(refusing: error) ?? failure(of: error)
      // Text can always be encoded.
      return
        (try? JSONText.of(
          NotSent(
            error: failure.message, field: failure.members["field"],
            status: Int(failure.status.code)))) ?? []
    }
  }

  private func failure(of error: any Error) -> HTTPError {
    log.error("streamed message not taken", ["cause": "\(error)"])
    let isUnavailable = (error as? StoreError)?.isUnavailable ?? false
    return HTTPError(isUnavailable ? .serviceUnavailable : .internalServerError)
  }
}
