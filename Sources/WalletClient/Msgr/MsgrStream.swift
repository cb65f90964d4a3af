internal import HTTPClient
internal import HTTPProtocol
internal import Platform

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
/// Messages can be sent on it too, which saves a request for each. An app that reads messages slowly makes the server
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

  /// Returns the next message.
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
  ///   `.disconnected` if no reply came: the server may have accepted the message nevertheless.
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

  /// An iterator over the messages.
  public struct Iterator: AsyncIteratorProtocol {
    let stream: MsgrStream

    /// Returns the next message.
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
  ///   - onRead: is called, on any thread, with what another device of the account has read.
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

/// A text that a stream brings.
enum MsgrStreamText {
  typealias Reply = Result<MsgrMessageID, MsgrError>

  private struct Notice: Decodable {
    let read: MsgrReading?

    private enum CodingKeys: String, CodingKey { case read = "Read" }
  }

  case message(MsgrMessage)
  case reply(Reply)
  /// Another device has read something.
  case read(MsgrReading)
  /// Something else has happened, as to a message of a topic. Later servers may have more notices.
  case otherNotice

  /// Reads a text, or returns nil if it is none of these.
  init?(_ text: [UInt8]) {
    if let message = MsgrJSON.decode(MsgrMessage.self, text) {
      self = .message(message)
    } else if let fault = MsgrJSON.decode(MsgrFault.self, text), let status = fault.status {
      self = .reply(.failure(MsgrError(status: status, field: fault.field, message: fault.error)))
    } else if let id = MsgrJSON.decode(MsgrSession.Sent.self, text)?.Id {
      self = .reply(.success(id))
    } else if let notice = MsgrJSON.decode(Notice.self, text) {
      self = notice.read.map(MsgrStreamText.read) ?? .otherNotice
    } else {
      return nil
    }
  }
}

/// The traffic of a stream: messages that wait to be read, and sends that wait for their replies.
final class MsgrStreamExchange: Sendable {
  private typealias Reply = MsgrStreamText.Reply

  private enum Phase {
    case open
    /// Nobody reads messages any more.
    case abandoned
    /// The socket has ended, without an error if either side closed it.
    case ended(MsgrError?)

    var isOpen: Bool { if case .open = self { true } else { false } }
  }

  /// A text to send, and the promise of its reply.
  private struct Send {
    let text: [UInt8]
    let reply: Promise<Reply>
  }

  private struct State {
    var messages: [MsgrMessage] = []
    /// The replies that are to come, in the order in which the texts were sent.
    var replies: [Promise<Reply>] = []
    /// The texts that wait for the task that sends.
    var outgoing: [Send] = []
    /// True while a task hands texts to the socket: one at a time, so that replies keep the order.
    var isSending = false
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

  /// - Parameter onRead: is called with what another device of the account has read.
  init(onRead: @escaping @Sendable (MsgrReading) -> Void) { self.onRead = onRead }

  // MARK: - In

  /// Reads until the socket ends.
  func run(_ socket: WebSocket) async {
    var end: MsgrError?
    do throws(WebSocketError) {
      while let message = try await socket.next() {
        guard case .text(let text) = message, receive(text) else {
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

  /// Handles a message, the reply to a send, or the notification of what another device has read.
  ///
  /// - Returns: whether the text is one of them.
  private func receive(_ text: [UInt8]) -> Bool {
    switch MsgrStreamText(text) {
    case .message(let message):
      let taker = state.withLock { state in
        state.messages.append(message)
        return state.taker.take()
      }
      taker?.resume()
      return true
    case .reply(let reply):
      let promise = state.withLock { state in
        state.replies.isEmpty ? nil : state.replies.removeFirst()
      }
      promise?.fulfill(reply)
      return promise != nil
    case .read(let reading):
      onRead(reading)
      return true
    case .otherNotice: return true
    case nil: return false
    }
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
    let (replies, taker) = state.withLock { state in
      state.phase = .ended(error)
      let replies = state.replies + state.outgoing.map(\.reply)
      state.replies = []
      state.outgoing = []
      return (replies, state.taker.take())
    }
    for reply in replies { reply.fulfill(.failure(error ?? .disconnected(.closed))) }
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
    let isFirst = try state.withLock { state throws(MsgrError) in
      if case .ended(let error) = state.phase { throw error ?? .disconnected(.closed) }
      guard state.replies.count + state.outgoing.count < Self.mostSends else {
        throw .tooOften(retryAfter: nil)
      }
      state.outgoing.append(Send(text: text, reply: reply))
      defer { state.isSending = true }
      return !state.isSending
    }
    if isFirst { sendWaiting(on: socket) }
    return try await reply.value.get()
  }

  /// Hands the waiting texts to the socket, also those that other tasks add meanwhile.
  private func sendWaiting(on socket: WebSocket) {
    while let send = nextSend() {
      do throws(WebSocketError) {
        try socket.enqueue(.text(send.text))
      } catch {
        // Nobody else appends replies meanwhile.
        state.withLock { state in state.replies.removeAll { $0 === send.reply } }
        send.reply.fulfill(.failure(.disconnected(error)))
      }
    }
  }

  /// Removes the next text that waits, whose reply is the last that is to come; nil ends the sending.
  private func nextSend() -> Send? {
    state.withLock { state in
      guard !state.outgoing.isEmpty else {
        state.isSending = false
        return nil
      }
      let send = state.outgoing.removeFirst()
      state.replies.append(send.reply)
      return send
    }
  }
}

/// The WebSockets of a server's streams, all on one thread, which starts with the first of them.
final class MsgrSockets: Sendable {
  private let options: WebSocketOptions
  private let client = LazyReference<WebSocketClient>()

  /// - Parameter options: give the certificate authorities and the time to connect.
  init(_ options: HTTPClientOptions) {
    var own = WebSocketOptions()
    own.connectTimeout = options.connectTimeout
    own.certificateAuthorities = options.certificateAuthorities
    self.options = own
  }

  /// Opens a WebSocket with a token.
  ///
  /// - Parameters:
  ///   - url: the stream's URL, with the scheme `http` or `https`.
  ///   - token: the device's token.
  /// - Throws: ``WebSocketError``.
  func connect(_ url: String, token: String) async throws(WebSocketError) -> WebSocket {
    // http becomes ws, https wss.
    guard url.hasPrefix("http"), let address = WebSocketURL("ws" + url.dropFirst(4)) else {
      throw WebSocketError(.unknownHost, "the server's URL must begin with http or https")
    }
    let opener: WebSocketClient
    if let made = client.value {
      opener = made
    } else {
      opener = client.keep(try WebSocketClient(options))
    }
    var fields = HeaderFields()
    fields.append(.authorization, "Bearer \(token)")
    return try await opener.connect(to: address, fields: fields)
  }
}
