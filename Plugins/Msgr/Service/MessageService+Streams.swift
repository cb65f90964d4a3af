internal import Formats
internal import Cluster
internal import HTTPProtocol
internal import Observability
internal import Push
internal import Routing
internal import Storage

/// The beginning of a stream: whose it is, and where it begins.
struct StreamBeginning: Sendable {
  /// The number of the stream on this node.
  let id: Int64
  /// The token of the peer.
  let token: BoundToken
  /// The message after which the stream begins.
  let start: MessageID
  /// The place of the stream in the share of the peer's network.
  let place: StreamPlace
  /// The owner of the work that the stream makes.
  let owner: WorkOwner?
}

extension MessageService {
  /// Identifies the peer of a stream, and decides where the stream begins.
  ///
  /// - Parameters:
  ///   - hash: the hash of the peer's token.
  ///   - position: the message that the peer has come to, or nil if it wants new messages only.
  ///   - network: the peer's network.
  func beginStream(
    _ hash: TokenHash, since position: MessageID?, from network: ClientNetwork?
  ) async throws -> StreamBeginning {
    let (token, tail) = try await authenticator.perform(as: .token(hash, claiming: nil)) { caller in
      guard case .token(let token) = caller else { throw RequestRefusal.forbidden }
      return (token, try await store.lastID(as: caller))
    }
    let place = try places.take(for: network)
    if let position { try await store.noteSeen(upTo: position, by: token.name) }
    let id = newStream()
    let start = position ?? tail
    // Before its messages come. Without a stream in the end, the node forgets it when it looks for the second time.
    try await store.begin(id, of: token, after: start)
    return StreamBeginning(
      id: id, token: token, start: start, place: place,
      owner: WorkOwner(client: network, account: token.name))
  }

  /// Reads on in a user's log.
  ///
  /// - Returns: the messages after a position, or nil if they can't be read, which is logged.
  func read(logOf name: UserName, after position: MessageID) async -> LogPage? {
    do {
      let messages = try await store.log(of: name, after: position)
      return LogPage(
        entries: try messages.map { ($0.id, try StreamedMessage($0)) },
        isLast: messages.count < MsgrStore.pageSize)
    } catch {
      log.error("stream ended: its inbox can't be read", ["cause": "\(error)"])
      return nil
    }
  }

  /// Notes which messages a stream's peer has, so that they need no push.
  func confirm(_ progress: StreamProgress, of token: BoundToken) {
    Task { await settle(progress, of: token) }
  }

  /// Removes a stream that is over, and has the messages pushed that it may not have delivered.
  func leave(_ stream: MessageStream, _ progress: StreamProgress) {
    hub.leave(stream.id, of: stream.token.name)
    Task { [id = stream.id, token = stream.token] in
      await settle(progress, of: token, ending: id)
      pushes.wake(store.pushes.kinds)
    }
  }

  private func settle(
    _ progress: StreamProgress, of token: BoundToken, ending stream: Int64? = nil
  ) async {
    do {
      try await store.settle(progress, of: token, ending: stream)
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
  ///   - text: `{"UserTo","Message","ClientId"?}`.
  ///   - token: the hash of the token that the stream was opened with.
  /// - Returns: the reply in JSON, `{"Id","Own"?}` or `{"error","status"}`.
  func send(streamed text: [UInt8], with token: TokenHash) async -> [UInt8] {
    do {
      let fields = try FieldValues(json: text)
      let delivery = try await send(
        try Draft(fields),
        by: .token(token, claiming: fields.has(.userFrom) ? try fields.name(.userFrom) : nil))
      return delivery.json
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
