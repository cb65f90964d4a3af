internal import HTTPProtocol
internal import Platform
internal import HTTPClient

/// The traffic of a stream: messages that wait to be taken, and sends that wait for their replies.
final class MsgrStreamExchange: Sendable {
  private typealias Reply = Result<MsgrMessageID, MsgrError>

  private struct ReadNotice: Decodable {
    let read: MsgrReading

    private enum CodingKeys: String, CodingKey { case read = "Read" }
  }

  private enum Phase {
    case open
    /// Nobody takes messages any more.
    case abandoned
    /// The socket has ended, without an error if either side closed it.
    case ended(MsgrError?)

    var isOpen: Bool { if case .open = self { true } else { false } }
  }

  private struct State {
    var messages: [MsgrMessage] = []
    /// The sends in their order, which is that of the replies.
    var sends: [Promise<Reply>] = []
    var taker: CheckedContinuation<Void, Never>?
    var reader: CheckedContinuation<Void, Never>?
    var phase = Phase.open
  }

  /// The number of waiting messages from which on no more are read.
  private static let longestQueue = 100
  /// The most sends that may wait; the server closes with 1008 at 256.
  private static let mostSends = 200

  private let state = Lock(State())
  private let onRead: @Sendable (MsgrReading) -> Void

  /// - Parameter onRead: is told what another device of the account has read.
  init(onRead: @escaping @Sendable (MsgrReading) -> Void) { self.onRead = onRead }

  // MARK: - In

  /// Reads until the socket ends.
  func run(_ socket: WebSocket) async {
    var end: MsgrError?
    do throws(WebSocketError) {
      while let message = try await socket.next() {
        guard case .text(let text) = message, take(text) else {
          socket.close(1003)
          end = .unexpected(status: 101)
          break
        }
        await waitForRoom()
      }
      if case .closed(1008, _) = socket.end { end = .forbidden }
    } catch { end = .disconnected(error) }
    finish(end)
  }

  /// Takes a message, the reply to a send, or the notice of what another device has read.
  ///
  /// - Returns: whether the text is one of them.
  private func take(_ text: [UInt8]) -> Bool {
    if let message = MsgrJSON.decode(MsgrMessage.self, text) {
      let taker = state.withLock { state in
        state.messages.append(message)
        return state.taker.take()
      }
      taker?.resume()
      return true
    }
    let reply: Reply
    if let fault = MsgrJSON.decode(MsgrFault.self, text), let status = fault.status {
      reply = .failure(MsgrError(status: status, field: fault.field, message: fault.error))
    } else if let id = MsgrJSON.decode(MsgrSession.Sent.self, text)?.Id {
      reply = .success(id)
    } else {
      guard let notice = MsgrJSON.decode(ReadNotice.self, text) else { return false }
      onRead(notice.read)
      return true
    }
    let send = state.withLock { state in state.sends.isEmpty ? nil : state.sends.removeFirst() }
    send?.fulfill(reply)
    return send != nil
  }

  private func waitForRoom() async {
    await withCheckedContinuation { continuation in
      let hasRoom = state.withLock { state in
        if !state.phase.isOpen || state.messages.count < Self.longestQueue { return true }
        state.reader = continuation
        return false
      }
      if hasRoom { continuation.resume() }
    }
  }

  private func resumeReader() {
    let reader = state.withLock { $0.reader.take() }
    reader?.resume()
  }

  /// Drops messages until the socket ends.
  func abandon() {
    state.withLock { if $0.phase.isOpen { $0.phase = .abandoned } }
    resumeReader()
  }

  private func finish(_ error: MsgrError?) {
    let (sends, taker) = state.withLock { state in
      state.phase = .ended(error)
      defer { state.sends = [] }
      return (state.sends, state.taker.take())
    }
    for send in sends { send.fulfill(.failure(error ?? .disconnected(.closed))) }
    taker?.resume()
  }

  // MARK: - Out

  /// Waits for the next message.
  ///
  /// - Returns: the message, or nil at the end.
  func next() async throws(MsgrError) -> MsgrMessage? {
    while true {
      let (message, phase) = state.withLock { state in
        (state.messages.isEmpty ? nil : state.messages.removeFirst(), state.phase)
      }
      if let message {
        resumeReader()
        return message
      }
      if case .ended(let error) = phase {
        if let error { throw error }
        return nil
      }
      await waitForNews()
    }
  }

  private func waitForNews() async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if case .ended = state.phase { return true }
        guard state.messages.isEmpty else { return true }
        state.taker = continuation
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  /// Sends a text, and waits for its reply.
  func send(_ text: [UInt8], on socket: WebSocket) async throws(MsgrError) -> MsgrMessageID {
    let reply = Promise<Reply>()
    try state.withLock { state throws(MsgrError) in
      if case .ended(let error) = state.phase { throw error ?? .disconnected(.closed) }
      guard state.sends.count < Self.mostSends else { throw .tooOften(retryAfter: nil) }
      do throws(WebSocketError) {
        // Under the lock, so that sends wait in the order in which they go.
        try socket.enqueue(.text(text))
      } catch { throw .disconnected(error) }
      state.sends.append(reply)
    }
    return try await reply.value.get()
  }
}
