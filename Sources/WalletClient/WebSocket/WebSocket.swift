public import HTTPProtocol

/// A WebSocket to a server (RFC 6455): messages in and out, with back-pressure both ways.
///
/// The messages are an asynchronous sequence for one task at a time. Who takes them slowly stops the socket
/// from being read, so that the server has to wait. The sequence ends when the server closes; it throws when
/// the connection breaks. A WebSocket that nobody holds any more closes itself.
public final class WebSocket: AsyncSequence, Sendable {
  /// What the sequence consists of.
  public typealias Element = WebSocketMessage
  /// What ends it otherwise than by a close frame.
  public typealias Failure = WebSocketError

  /// Where it leads to.
  public let url: WebSocketURL
  private let client: WebSocketClient
  private let id: UInt64
  private let state: WebSocketState

  init(_ url: WebSocketURL, _ client: WebSocketClient, id: UInt64, _ state: WebSocketState) {
    self.url = url
    self.client = client
    self.id = id
    self.state = state
  }

  deinit {
    if state.end == nil { client.post(.close(id, 1001, reason: "")) }
  }

  /// Takes the next message.
  ///
  /// - Returns: the message, or nil once the server has closed.
  /// - Throws: ``WebSocketError``, also later ones; `.cancelled` if the task is cancelled meanwhile, which
  ///   loses no message.
  public nonisolated(nonsending) func next() async throws(WebSocketError) -> WebSocketMessage? {
    let (message, goesOn) = try await state.next()
    if goesOn { client.post(.resume(id)) }
    return message
  }

  /// Sends a message, and waits while more than the limit waits to be sent.
  ///
  /// - Parameter message: what to send; text must be valid UTF-8.
  /// - Throws: `.closed` if the WebSocket is over, `.cancelled` if the task was cancelled while it waited:
  ///   then the message may be sent nevertheless.
  public nonisolated(nonsending) func send(
    _ message: WebSocketMessage
  ) async throws(WebSocketError) {
    try enqueue(message)
    try await state.writable()
  }

  /// Sends a message without waiting; who calls this limits by other means how much may wait.
  ///
  /// - Parameter message: what to send, behind all that was given before; text must be valid UTF-8.
  /// - Throws: `.closed` if the WebSocket is over.
  public func enqueue(_ message: WebSocketMessage) throws(WebSocketError) {
    try state.willPost(message.count)
    client.post(.send(id, message))
  }

  /// Begins the close handshake: what was sent before still goes out, what comes is discarded.
  ///
  /// - Parameters:
  ///   - code: why; a code that may stand in a close frame.
  ///   - reason: at most 123 bytes of text for the server.
  public func close(_ code: UInt16 = 1000, reason: String = "") {
    client.post(.close(id, code, reason: reason))
  }

  /// Waits for the end.
  ///
  /// - Returns: how the WebSocket ended.
  /// - Throws: `.cancelled` if the task is cancelled meanwhile.
  public nonisolated(nonsending) func ended() async throws(WebSocketError) -> WebSocketEnd {
    try await state.ended()
  }

  /// How the WebSocket ended; nil as long as it hasn't.
  public var end: WebSocketEnd? { state.end }

  /// An iterator over the messages; those of one WebSocket share them.
  public func makeAsyncIterator() -> Iterator { Iterator(socket: self) }

  /// Takes messages one by one.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    let socket: WebSocket

    /// Takes the next message.
    ///
    /// - Parameter actor: whose executor is kept.
    /// - Returns: the message, or nil once the server has closed.
    /// - Throws: what ``WebSocket/next()`` throws.
    public func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(WebSocketError) -> WebSocketMessage? {
      try await socket.next()
    }
  }
}

extension WebSocketMessage {
  /// How long the content is, in bytes.
  var count: Int {
    switch self {
    case .text(let bytes), .binary(let bytes): bytes.count
    }
  }
}
