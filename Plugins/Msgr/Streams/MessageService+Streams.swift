internal import MsgrMessages
internal import Observability
internal import Storage

/// Messages as a stream sends them.
struct StreamedMessages: Sendable {
  /// The messages in JSON, in order.
  let texts: [[UInt8]]
  /// The last message, or nil if there is none.
  let last: MessageID?
  /// Whether there may be more after it.
  let mayBeMore: Bool
}

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

  /// Adds a stream that has begun.
  func join(_ listener: StreamHub.Listener) -> StreamHub.ListenerID { hub.add(listener) }

  /// Reads on in a stream's inbox.
  ///
  /// - Returns: the messages after a position, or nil if they can't be read, which is logged.
  func read(inboxOf name: UserName, after position: MessageID) async -> StreamedMessages? {
    do {
      let page = try await store.page(of: name, after: position)
      return StreamedMessages(
        texts: try page.messages.map(JSONText.of), last: page.messages.last?.id,
        mayBeMore: page.isFull)
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
  func leave(_ id: StreamHub.ListenerID, _ cursor: InboxCursor, of token: BoundToken) {
    hub.remove(id)
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
}
