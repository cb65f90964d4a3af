package import HTTPProtocol
package import Transport

internal import Formats

/// The decision on a request whose response may go on as long as its client listens.
package enum StreamDecision: Sendable {
  /// Responds as to any other request.
  case respond(Response)
  /// Opens a body that is written to as things happen.
  case open(ResponseStreamOpening)
}

/// The head of a response whose body goes on as long as the client listens, and the maker of what writes to it.
package struct ResponseStreamOpening: Sendable {
  /// The status and the fields; a body is left out.
  package var head: Response
  /// The number of bytes that may wait to be sent; with more the response is cut.
  package var highWaterMark = 1 << 20
  /// Makes the writer of the body, on the connection's loop; not called for `HEAD`.
  package var makeHandler: @Sendable (any ResponseStream) -> any ResponseStreamHandler

  package init(
    _ head: Response,
    makeHandler: @escaping @Sendable (any ResponseStream) -> any ResponseStreamHandler
  ) {
    self.head = head
    self.makeHandler = makeHandler
    self.head.body = .none
    self.head.isOpenEnded = true
  }
}

/// The writer of a response's body that goes on as long as the client listens; all calls come on the connection's event loop.
///
/// An idle body has no task: it is written to when something happens.
package protocol ResponseStreamHandler: AnyObject {
  /// Called when all that waited is sent.
  func drained()
  /// Called when the time given to ``ResponseStream/setTimer(after:)`` is over.
  func timerFired()
  /// Called when the client has gone, or when the body has ended; nothing is called after this.
  func closed()
}

/// The open body of a response; touched on its loop only, and harmless after its end.
package protocol ResponseStream: AnyObject {
  /// The loop that the connection lives on.
  var loop: EventLoop { get }
  /// The number of bytes that wait to be sent.
  var backlog: Int { get }
  /// Sends bytes at the end of the turn.
  func send(_ bytes: [UInt8])
  /// Ends the body, whole.
  func end()
  /// Starts the timer, which calls ``ResponseStreamHandler/timerFired()`` once; an earlier start is forgotten.
  ///
  /// - Parameter duration: the time until then; the loop's clock ticks four times a second.
  func setTimer(after duration: Duration)
}

/// The open body of a response of HTTP/1: what is left of the connection, which ends with the body.
final class HTTP1ResponseStream: ServedProtocol, ResponseStream {
  /// The connection releases this object when it ends, which breaks the cycle.
  private let connection: Connection
  private let peer: Peer
  /// The writer, until the body is over.
  private var handler: (any ResponseStreamHandler)?
  private let highWaterMark: Int
  /// True if the body is sent in chunks (RFC 9112 section 7.1); HTTP/1.0 knows its end by that of the connection.
  private let isChunked: Bool
  /// The bytes that came from a client that only listens.
  private var discarded = 0
  /// The moment at which the handler's timer fires.
  private var timer: Int64?

  /// The bytes that a client may send while it listens, such as a next request, which is not answered any more.
  private static let discardLimit = 64 << 10
  /// The number of unsent bytes that are charged at once; fewer are when the clock ticks.
  private static let chargeLimit = 64 << 10

  private init(
    _ connection: Connection, _ peer: Peer, isChunked: Bool, _ opening: ResponseStreamOpening
  ) {
    self.connection = connection
    self.peer = peer
    self.isChunked = isChunked
    highWaterMark = opening.highWaterMark
  }

  /// Turns a connection whose response has begun into one that has nothing else.
  static func begin(
    on connection: Connection, _ peer: Peer, isChunked: Bool, _ opening: ResponseStreamOpening
  ) {
    let stream = HTTP1ResponseStream(connection, peer, isChunked: isChunked, opening)
    connection.become(stream)
    let handler = opening.makeHandler(stream)
    // The maker may have ended it.
    guard connection.isOpen else { return handler.closed() }
    stream.handler = handler
    connection.resumeReading()
  }

  var loop: EventLoop { connection.loop }

  // MARK: - Input

  func received(_ input: RawSpan) {
    discarded += input.byteCount
    if discarded > HTTP1ResponseStream.discardLimit { connection.abort() }
  }

  /// A client that closes its side has gone: the body has no other end.
  func peerEnded() { connection.finish() }

  // MARK: - Output

  var backlog: Int { connection.backlog }

  func send(_ bytes: [UInt8]) {
    guard connection.isOpen, !bytes.isEmpty else { return }
    // One turn may produce more than the mark without the client being slow.
    if connection.backlog + bytes.count > highWaterMark { connection.flush() }
    guard connection.backlog + bytes.count <= highWaterMark else { return connection.cut() }
    connection.stage { output in
      if isChunked {
        output.append(chunk: bytes)
      } else {
        output.append(contentsOf: bytes)
      }
    }
  }

  func end() {
    guard connection.isOpen else { return }
    if isChunked { connection.stage { $0.append(contentsOf: [UInt8].lastChunk) } }
    connection.finish()
  }

  func drained() {
    _ = isCharged
    handler?.drained()
  }

  // MARK: - Time

  func setTimer(after duration: Duration) { timer = loop.now(after: duration) }

  func tick() {
    guard !connection.isStalled, isCharged else { return connection.cut() }
    guard let timer, loop.now >= timer else { return }
    self.timer = nil
    handler?.timerFired()
  }

  func drain() { end() }

  func ended() {
    // Unread output is held on.
    _ = isCharged
    handler.take()?.closed()
  }

  // MARK: - Memory

  /// Charges the memory that the connection takes now.
  private var isCharged: Bool { peer.hold(connection.backlog) }

  func outputWaits() {
    if connection.backlog >= HTTP1ResponseStream.chargeLimit, !isCharged { connection.cut() }
  }

  func lostMemory(of owner: ClientNetwork?) {
    if owner == peer.owner { connection.cut() }
  }
}

/// The open body of a response on a stream of HTTP/2.
final class HTTP2ResponseStream: ResponseStream {
  private weak var connection: HTTP2Connection?
  let loop: EventLoop
  private let id: Int32

  init(_ connection: HTTP2Connection, on loop: EventLoop, _ id: Int32) {
    self.connection = connection
    self.loop = loop
    self.id = id
  }

  var backlog: Int { connection?.backlog(of: id) ?? 0 }

  func send(_ bytes: [UInt8]) { connection?.send(bytes, to: id) }

  func end() { connection?.endBody(of: id) }

  func setTimer(after duration: Duration) { connection?.setTimer(after: duration, of: id) }
}

extension [UInt8] {
  /// The end of a body in chunks, without trailers.
  static let lastChunk = Array("0\r\n\r\n".utf8)

  /// Appends bytes as a chunk (RFC 9112 section 7.1).
  mutating func append(chunk bytes: [UInt8]) {
    append(contentsOf: String(bytes.count, radix: 16).utf8)
    append(contentsOf: [0x0d, 0x0a])
    append(contentsOf: bytes)
    append(contentsOf: [0x0d, 0x0a])
  }
}
