internal import HTTPProtocol
internal import Platform

/// The part of a ``WebSocket`` that its loop and the tasks that use it share.
final class WebSocketState: Sendable {
  private struct Values {
    var isOpen = false
    /// The subprotocol that the server has chosen.
    var subprotocol: String?
    var end: WebSocketEnd?
    /// The received messages that wait to be read.
    var messages = FIFO<WebSocketMessage>()
    var receivedBytes = 0
    /// True if the socket isn't read because too much waits here.
    var isPaused = false
    /// Bytes that the loop hasn't been given yet.
    var posted = 0
    /// Bytes that the socket hasn't accepted yet.
    var unsent = 0
    /// The number of changes that tasks may wait for.
    var version: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var lastWaiter: UInt64 = 0
  }

  private let receiveLimit: Int
  private let sendLimit: Int
  private let values = Lock(Values())

  init(_ options: WebSocketOptions) {
    receiveLimit = options.receiveLimit
    sendLimit = options.sendLimit
  }

  // MARK: - The loop's side

  /// Records that the handshake is done.
  func open(_ subprotocol: String?) {
    change { values in
      values.isOpen = true
      values.subprotocol = subprotocol
    }
  }

  /// Queues received messages.
  ///
  /// - Returns: whether the socket is to be read on.
  func deliver(_ messages: [WebSocketMessage]) -> Bool {
    change { values in
      for message in messages {
        values.messages.append(message)
        values.receivedBytes += Self.cost(message)
      }
      values.isPaused = values.receivedBytes > receiveLimit
      return !values.isPaused
    }
  }

  /// Records the end of the WebSocket; the first one counts.
  func end(_ end: WebSocketEnd) { change { $0.end = $0.end ?? end } }

  /// Records that a message was handed to the loop.
  ///
  /// - Parameters:
  ///   - count: its length in bytes.
  ///   - unsent: the number of bytes that the socket has not accepted yet, or nil if the message is dropped.
  func handedOver(_ count: Int, unsent: Int? = nil) {
    values.withLock { values in
      values.posted -= count
      values.unsent = unsent ?? values.unsent
    }
  }

  /// Records that the socket accepted bytes.
  func wrote(unsent: Int) {
    let isFull = values.withLock { values in
      let isFull = values.posted + values.unsent > sendLimit
      values.unsent = unsent
      return isFull
    }
    if isFull { change { _ in } }
  }

  // MARK: - The user's side

  /// Waits for the handshake.
  ///
  /// - Returns: the subprotocol that the server has chosen.
  nonisolated(nonsending) func opened() async throws(WebSocketError) -> String? {
    try await wait { values throws(WebSocketError) in
      // Also if the WebSocket has ended since: messages received before can still be read.
      if values.isOpen { return .some(values.subprotocol) }
      if let end = values.end { throw Self.error(end) }
      return nil
    }
  }

  /// Removes the next message.
  ///
  /// - Returns: the message, nil after a close frame; and whether the loop is to read on.
  nonisolated(nonsending) func next() async throws(WebSocketError) -> (WebSocketMessage?, Bool) {
    try await wait { values throws(WebSocketError) in
      guard let message = values.messages.popFirst() else {
        switch values.end {
        case nil: return nil
        case .closed: return (nil, false)
        case .failed(let error): throw error
        }
      }
      values.receivedBytes -= Self.cost(message)
      let goesOn = values.isPaused && values.receivedBytes <= receiveLimit / 2
      if goesOn { values.isPaused = false }
      return (message, goesOn)
    }
  }

  /// Counts a message that is about to be posted to the loop.
  func willPost(_ count: Int) throws(WebSocketError) {
    let isOver = values.withLock { values in
      if values.end == nil { values.posted += count }
      return values.end != nil
    }
    if isOver { throw .closed }
  }

  /// Waits until little enough waits to be sent.
  nonisolated(nonsending) func writable() async throws(WebSocketError) {
    try await wait { values throws(WebSocketError) in
      // Also if the WebSocket has ended since: the server may have answered what was sent with its close.
      if values.posted + values.unsent <= sendLimit { return () }
      if let end = values.end { throw Self.error(end) }
      return nil
    }
  }

  /// Waits for the end.
  nonisolated(nonsending) func ended() async throws(WebSocketError) -> WebSocketEnd {
    try await wait { $0.end }
  }

  /// The way in which the WebSocket ended, once it has.
  var end: WebSocketEnd? { values.withLock { $0.end } }

  // MARK: - Waiting

  /// Changes values and wakes all that wait for a change.
  private func change<Result>(_ body: (inout Values) -> sending Result) -> Result {
    let (result, woken) = values.withLock { values in
      let result = body(&values)
      values.version += 1
      defer { values.waiters = [:] }
      return (result, Array(values.waiters.values))
    }
    for waiter in woken { waiter.resume() }
    return result
  }

  /// Waits until a look at the values has a result; a cancelled task waits no longer.
  private nonisolated(nonsending) func wait<Result: Sendable>(
    _ look: (inout Values) throws(WebSocketError) -> Result?
  ) async throws(WebSocketError) -> Result {
    while true {
      let (result, version) = try values.withLock { values throws(WebSocketError) in
        (try look(&values), values.version)
      }
      if let result { return result }
      guard !Task.isCancelled else { throw .cancelled }
      await change(after: version)
    }
  }

  /// Waits for a change after a version, or for the task's cancellation.
  private nonisolated(nonsending) func change(after version: UInt64) async {
    let id = values.withLock { values in
      values.lastWaiter += 1
      return values.lastWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = values.withLock { values in
          guard values.version == version, !Task.isCancelled else { return false }
          values.waiters[id] = continuation
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      values.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
    }
  }

  private static func error(_ end: WebSocketEnd) -> WebSocketError {
    if case .failed(let error) = end { error } else { .closed }
  }

  /// The memory that a waiting message takes, in bytes; an empty one takes some too.
  private static func cost(_ message: WebSocketMessage) -> Int { message.bytes.count + 64 }
}
