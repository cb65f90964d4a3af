internal import HTTPClient

/// The messages to an account as they come, and those that it sends from other devices: an asynchronous sequence for one task at a time.
///
/// While it is open, nothing is pushed to the device. When it ends, or throws because the network went away, the app
/// opens another one from the last message that it has, and misses nothing:
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
/// Messages can be sent on it too, which spares each a request. An app that takes messages slowly makes the server
/// wait, and with it the replies to sent messages. A stream closes when its last reference goes.
public final class MsgrStream: AsyncSequence, Sendable {
  /// The element of the sequence: a message.
  public typealias Element = MsgrMessage
  /// The errors: `.forbidden` if the token has ended, `.disconnected` if the connection broke.
  public typealias Failure = MsgrError

  private let socket: WebSocket
  private let exchange: MsgrStreamExchange

  init(_ socket: WebSocket, onRead: @escaping @Sendable (MsgrReading) -> Void) {
    self.socket = socket
    exchange = MsgrStreamExchange(onRead: onRead)
    // The task holds the stream's parts and not the stream, whose last reference may so go.
    Task { [socket, exchange] in await exchange.run(socket) }
  }

  deinit {
    socket.close(1001)
    exchange.abandon()
  }

  /// Takes the next message.
  ///
  /// - Returns: the message, or nil once the server has closed, as it does when it restarts.
  /// - Throws: ``MsgrError``, in every later call too.
  public func next() async throws(MsgrError) -> MsgrMessage? { try await exchange.next() }

  /// Sends a message to a user. When this returns, the message is on the server's disk. Messages go in the order of the
  /// calls.
  ///
  /// - Parameters:
  ///   - text: as for ``MsgrSession/send(_:to:as:)``.
  ///   - name: the user.
  ///   - clientID: as for ``MsgrSession/send(_:to:as:)``.
  /// - Returns: the message's identifier.
  /// - Throws: the errors of ``MsgrSession/send(_:to:as:)``; `.tooOften` if 200 others wait for their replies;
  ///   `.disconnected` if no reply came: the server may have taken the message nevertheless.
  @discardableResult
  public func send(
    _ text: String, to name: String, as clientID: String? = nil
  ) async throws(MsgrError) -> MsgrMessageID {
    var fields = ["UserTo": name, "Message": text]
    fields["ClientId"] = clientID
    return try await exchange.send(MsgrJSON.encode(fields), on: socket)
  }

  /// Closes the stream, which ends the sequence.
  public func close() { socket.close() }

  /// Makes an iterator over the messages. The iterators of one stream share them.
  public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

  /// An iterator that takes messages one by one.
  public struct Iterator: AsyncIteratorProtocol {
    let stream: MsgrStream

    /// Takes the next message.
    ///
    /// - Parameter actor: the actor on which the call runs.
    /// - Returns: the message, or nil once the server has closed.
    /// - Throws: the errors of ``MsgrStream/next()``.
    public func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(MsgrError) -> MsgrMessage? { try await stream.next() }
  }
}

extension MsgrSession {
  /// Opens a stream.
  ///
  /// - Parameters:
  ///   - position: the last message that the app has, behind which the stream begins, or nil for new messages only.
  ///   - onRead: is told, on any thread, what another device of the account has read.
  /// - Returns: the stream, after the server accepted it.
  /// - Throws: `.forbidden` if the token has ended or the account is used by name and password;
  ///   `.disconnected`.
  public func stream(
    since position: MsgrMessageID? = nil,
    onRead: @escaping @Sendable (MsgrReading) -> Void = { _ in }
  ) async throws(MsgrError) -> MsgrStream {
    guard let token else { throw .forbidden }
    return try await server.stream(token: token, since: position, onRead: onRead)
  }
}
