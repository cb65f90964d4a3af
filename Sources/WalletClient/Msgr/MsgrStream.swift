internal import HTTPProtocol
internal import Synchronization

/// What comes to an account, as it comes: an asynchronous sequence of messages for one task at a
/// time.
///
/// While it is open, nothing is pushed to the device. When it ends, or throws because the network
/// went away, the app opens another one from the last message that it has, and misses nothing:
///
/// ```swift
/// while !Task.isCancelled {
///   do {
///     for try await message in try await anna.stream(since: lastID) {
///       show(message)
///       lastID = message.id
///     }
///   } catch MsgrError.forbidden {
///     return askForPassword()  // the token has ended
///   } catch {
///     try await Task.sleep(for: .seconds(5))
///   }
/// }
/// ```
///
/// Messages can be sent on it too, which spares each a request. Who takes messages slowly makes the
/// server wait, and with it the answers to what is sent. A stream that nobody holds any more closes
/// itself.
public final class MsgrStream: AsyncSequence, Sendable {
  /// What the sequence consists of.
  public typealias Element = MsgrMessage
  /// What it throws: `.forbidden` if the token has ended, `.disconnected` if the connection broke.
  public typealias Failure = MsgrError

  private let socket: WebSocket
  private let exchange = MsgrStreamExchange()

  init(_ socket: WebSocket) {
    self.socket = socket
    // It holds the stream's parts and not the stream, which may so be let go.
    Task { [socket, exchange] in await exchange.run(socket) }
  }

  deinit {
    socket.close(1001)
    exchange.abandon()
  }

  /// Takes the next message.
  ///
  /// - Returns: the message; nil once the server has closed, as it does when it restarts.
  /// - Throws: ``MsgrError``, also later ones.
  public func next() async throws(MsgrError) -> MsgrMessage? {
    try await exchange.next()
  }

  /// Sends a message to a user. When this returns, it is on the server's disk. Messages go in the
  /// order of the calls.
  ///
  /// - Parameters:
  ///   - text: as for ``MsgrSession/send(_:to:)``.
  ///   - name: the user.
  /// - Returns: what the message is known by.
  /// - Throws: what ``MsgrSession/send(_:to:)`` throws; `.tooOften` if 200 others wait for their
  ///   answers; `.disconnected` if no answer came: the server may have taken the message
  ///   nevertheless.
  @discardableResult
  public func send(_ text: String, to name: String) async throws(MsgrError) -> MsgrMessageID {
    try await exchange.send(MsgrJSON.object(["UserTo": name, "Message": text]), on: socket)
  }

  /// Closes the stream; the sequence ends.
  public func close() { socket.close() }

  /// An iterator over the messages; those of one stream share them.
  public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

  /// Takes messages one by one.
  public struct Iterator: AsyncIteratorProtocol {
    let stream: MsgrStream

    /// Takes the next message.
    ///
    /// - Parameter actor: whose executor is kept.
    /// - Returns: the message; nil once the server has closed.
    /// - Throws: what ``MsgrStream/next()`` throws.
    public func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(MsgrError) -> MsgrMessage? {
      try await stream.next()
    }
  }
}

extension MsgrSession {
  /// Opens a stream.
  ///
  /// - Parameter position: the last message that the app has: those behind it come first; nil: only
  ///   what is new.
  /// - Returns: the stream, after the server accepted it.
  /// - Throws: `.forbidden` if the token has ended or the account is used by name and password;
  ///   `.disconnected`.
  public func stream(since position: MsgrMessageID? = nil) async throws(MsgrError) -> MsgrStream {
    guard let token else { throw .forbidden }
    return try await server.stream(token: token, since: position)
  }
}
