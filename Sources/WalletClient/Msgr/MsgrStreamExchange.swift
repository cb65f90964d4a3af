internal import HTTPProtocol
internal import Threading

/// What goes over a stream: messages that wait to be taken, and sends that wait for their answers.
final class MsgrStreamExchange: Sendable {
  private typealias Answer = Result<MsgrMessageID, MsgrError>

  private struct State {
    var messages: [MsgrMessage] = []
    /// In the order they were sent, which is that of the answers.
    var sends: [CheckedContinuation<Answer, Never>] = []
    var taker: CheckedContinuation<Void, Never>?
    var reader: CheckedContinuation<Void, Never>?
    /// How it ended: nil in it for a close of the server's or of ours.
    var end: MsgrError??
    /// Whether nobody takes messages any more.
    var isAbandoned = false
  }

  /// How many messages wait to be taken before no more are read.
  private static let longestQueue = 100
  /// How many sends may wait; the server closes with 1008 at 256.
  private static let mostSends = 200

  private let state = Lock(State())

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
    } catch {
      end = .disconnected(error)
    }
    finish(end)
  }

  private struct Refused: Decodable {
    let error: String
    let field: String?
    let status: Int
  }

  private struct Sent: Decodable {
    let Id: String
  }

  /// Takes a message, or the answer to a send.
  ///
  /// - Returns: whether it is either.
  private func take(_ text: [UInt8]) -> Bool {
    if let message = MsgrJSON.decode(MsgrMessage.self, text) {
      let taker = state.withLock { state in
        state.messages.append(message)
        defer { state.taker = nil }
        return state.taker
      }
      taker?.resume()
      return true
    }
    let answer: Answer
    if let refused = MsgrJSON.decode(Refused.self, text) {
      answer = .failure(
        MsgrError(status: refused.status, field: refused.field, message: refused.error))
    } else if let sent = MsgrJSON.decode(Sent.self, text), let id = MsgrMessageID(sent.Id) {
      answer = .success(id)
    } else {
      return false
    }
    let send = state.withLock { state in state.sends.isEmpty ? nil : state.sends.removeFirst() }
    send?.resume(returning: answer)
    return send != nil
  }

  private func waitForRoom() async {
    await withCheckedContinuation { continuation in
      let hasRoom = state.withLock { state in
        if state.isAbandoned || state.messages.count < Self.longestQueue { return true }
        state.reader = continuation
        return false
      }
      if hasRoom { continuation.resume() }
    }
  }

  private func resumeReader() {
    let reader = state.withLock { state in
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume()
  }

  /// Lets what comes go by, until the socket ends.
  func abandon() {
    state.withLock { $0.isAbandoned = true }
    resumeReader()
  }

  private func finish(_ error: MsgrError?) {
    let (sends, taker) = state.withLock { state in
      state.end = .some(error)
      defer {
        state.sends = []
        state.taker = nil
      }
      return (state.sends, state.taker)
    }
    for send in sends { send.resume(returning: .failure(error ?? .disconnected(.closed))) }
    taker?.resume()
  }

  // MARK: - Out

  /// The next message, once there is one; nil at the end.
  func next() async throws(MsgrError) -> MsgrMessage? {
    while true {
      let (message, end) = state.withLock { state -> (MsgrMessage?, MsgrError??) in
        state.messages.isEmpty ? (nil, state.end) : (state.messages.removeFirst(), nil)
      }
      if let message {
        resumeReader()
        return message
      }
      if let end {
        if let error = end { throw error }
        return nil
      }
      await waitForNews()
    }
  }

  private func waitForNews() async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if !state.messages.isEmpty || state.end != nil { return true }
        state.taker = continuation
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  /// Sends a text, and waits for its answer.
  func send(_ text: [UInt8], on socket: WebSocket) async throws(MsgrError) -> MsgrMessageID {
    let answer: Answer = await withCheckedContinuation { continuation in
      let refusal = state.withLock { state -> MsgrError? in
        if let end = state.end { return end ?? .disconnected(.closed) }
        guard state.sends.count < Self.mostSends else { return .tooOften(retryAfter: nil) }
        do throws(WebSocketError) {
          // Under the lock, so that sends wait in the order in which they go.
          try socket.enqueue(.text(text))
        } catch {
          return .disconnected(error)
        }
        state.sends.append(continuation)
        return nil
      }
      if let refusal { continuation.resume(returning: .failure(refusal)) }
    }
    return try answer.get()
  }
}
