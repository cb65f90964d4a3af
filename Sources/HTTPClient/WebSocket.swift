public import HTTPProtocol
internal import Transport

/// A WebSocket to a server (RFC 6455): messages in and out, with back-pressure both ways.
///
/// The messages are an asynchronous sequence for one task at a time. A task that reads them slowly stops the socket
/// from being read, so that the server has to wait. The sequence ends when the server closes; it throws when
/// the connection breaks. A WebSocket closes itself when its last reference is released.
public final class WebSocket: AsyncSequence, AsyncIteratorProtocol, Sendable {
  /// The elements of the sequence.
  public typealias Element = WebSocketMessage
  /// The error that ends the sequence otherwise than by a close frame.
  public typealias Failure = WebSocketError

  /// The server's address.
  public let url: WebSocketURL
  /// The subprotocol that the server has chosen, or nil if it has chosen none.
  public let subprotocol: String?
  /// Held, so that the loop goes on.
  private let client: WebSocketClient
  private let link: WebSocketLink
  private let state: WebSocketState

  init(
    _ url: WebSocketURL, _ subprotocol: String?, _ client: WebSocketClient, _ link: WebSocketLink,
    _ state: WebSocketState
  ) {
    self.url = url
    self.subprotocol = subprotocol
    self.client = client
    self.link = link
    self.state = state
  }

  deinit { if state.end == nil { client.loop.execute { [link] in link.close(1001, reason: "") } } }

  /// Returns the next message.
  ///
  /// - Returns: the message, or nil once the server has closed.
  /// - Throws: ``WebSocketError``, also later ones; `.cancelled` if the task is cancelled meanwhile, which
  ///   loses no message.
  public nonisolated(nonsending) func next() async throws(WebSocketError) -> WebSocketMessage? {
    let (message, goesOn) = try await state.next()
    if goesOn { client.loop.execute { [link] in link.resume() } }
    return message
  }

  /// Sends a message, and waits while more than the limit waits to be sent.
  ///
  /// - Parameter message: the message; text must be valid UTF-8.
  /// - Throws: `.closed` if the WebSocket is over, `.cancelled` if the task was cancelled while it waited:
  ///   then the message may be sent nevertheless.
  public nonisolated(nonsending) func send(
    _ message: WebSocketMessage
  ) async throws(WebSocketError) {
    try enqueue(message)
    try await state.writable()
  }

  /// Sends a message without waiting. The caller limits by other means how much may wait.
  ///
  /// - Parameter message: the message, which goes behind all that was given before; text must be valid UTF-8.
  /// - Throws: `.closed` if the WebSocket is over.
  public func enqueue(_ message: WebSocketMessage) throws(WebSocketError) {
    try state.willPost(message.bytes.count)
    client.loop.execute { [link] in link.send(message) }
  }

  /// Begins the close handshake: messages sent before still go out, received ones are discarded.
  ///
  /// - Parameters:
  ///   - code: a code that may stand in a close frame.
  ///   - reason: at most 123 bytes of text for the server.
  public func close(_ code: UInt16 = 1000, reason: String = "") {
    client.loop.execute { [link] in link.close(code, reason: reason) }
  }

  /// Waits for the end.
  ///
  /// - Returns: the way in which the WebSocket ended.
  /// - Throws: `.cancelled` if the task is cancelled meanwhile.
  public nonisolated(nonsending) func ended() async throws(WebSocketError) -> WebSocketEnd {
    try await state.ended()
  }

  /// The way in which the WebSocket ended, or nil before its end.
  public var end: WebSocketEnd? { state.end }

  /// Returns the WebSocket, which is its own iterator.
  public func makeAsyncIterator() -> WebSocket { self }

  /// Returns the next message.
  ///
  /// - Parameter actor: the actor whose executor is kept.
  /// - Returns: the message, or nil once the server has closed.
  /// - Throws: the errors of ``WebSocket/next()``.
  public func next(
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws(WebSocketError) -> WebSocketMessage? { try await next() }
}
