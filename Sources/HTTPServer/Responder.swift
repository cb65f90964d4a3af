package import Formats
package import HTTPProtocol
package import Transport

/// The application behind a server: responds to its requests.
package protocol Responder: Sendable {
  /// Decides what a request needs, once its head is complete and before any of its body is read.
  ///
  /// Runs on the connection's event loop and must not block.
  ///
  /// - Returns: the way to respond.
  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan
  /// Makes the response to a planned request whose body has turned out to be longer than the plan's limit.
  ///
  /// Runs on the connection's event loop and must not block.
  func tooLarge(_ head: RequestHead) -> Response
  /// Decides whether a peer's word on the origin of its requests counts.
  ///
  /// - Parameter peer: the peer's address; nil for a Unix socket.
  func isProxy(_ peer: IPAddress?) -> Bool
  /// Finds the origin of a request that a proxy passed on, as soon as its head is complete.
  ///
  /// - Returns: the client's origin.
  func origin(of head: RequestHead, from origin: RequestOrigin) -> RequestOrigin
}

extension Responder {
  /// Says it by the status alone.
  package func tooLarge(_ head: RequestHead) -> Response { Response(.contentTooLarge) }
  /// Trusts nobody.
  package func isProxy(_ peer: IPAddress?) -> Bool { false }
  /// Returns the origin as it is.
  package func origin(of head: RequestHead, from origin: RequestOrigin) -> RequestOrigin { origin }
}

/// The way in which a request is responded to, as its head alone decides.
package enum RequestPlan: Sendable {
  /// Responds at once; a body that follows is discarded.
  case refuse(Response)
  /// Responds inline on the connection's loop; the handler must not block.
  case respond(bodyLimit: Int, @Sendable (Request) -> Response)
  /// Responds by a task whose executor is the connection's loop.
  case task(bodyLimit: Int, @Sendable (Request) async -> Response)
  /// Responds by a task, with a response that may go on as long as the client listens.
  case stream(bodyLimit: Int, @Sendable (Request) async -> StreamDecision)
  /// Responds by a task that takes the body while it comes.
  case upload(bodyLimit: Int, @Sendable (Request, RequestBody) async -> Response)
  /// A WebSocket handshake, accepted or refused by a task on the connection's loop.
  case webSocket(@Sendable (Request) async -> WebSocketDecision)
}

/// The decision on a WebSocket handshake.
package enum WebSocketDecision: Sendable {
  case refuse(Response)
  case accept(WebSocketAcceptance)
}

/// A request from the end of its head until it is responded to, and the way to its response; the same for HTTP/1 and HTTP/2.
struct Exchange {
  private(set) var request: Request
  /// The way to respond, as the head decides.
  var plan: RequestPlan
  /// The client for whom it is counted as a request in progress.
  private var counted: ClientNetwork?

  /// Makes the exchange of a head that has come whole.
  init(_ head: RequestHead, from peer: Peer, on server: ServerLoop) {
    request = Request(head: head, origin: server.origin(of: head, from: peer))
    plan = server.core.responder.plan(for: head, from: request.origin)
  }

  var head: RequestHead { request.head }

  /// The client whose request this is.
  var client: ClientNetwork? { request.origin.client }

  /// Appends bytes of the body.
  mutating func append(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe request.body.append(contentsOf: $0) }
  }

  /// Appends bytes of the body.
  mutating func append(_ bytes: [UInt8]) {
    if request.body.isEmpty { request.body = bytes } else { request.body += bytes }
  }

  /// Counts it as a request in progress.
  ///
  /// - Returns: whether its client may have one more.
  mutating func count(on server: ServerLoop) -> Bool {
    guard counted == nil else { return true }
    guard server.beginRequest(of: client) else { return false }
    counted = client
    return true
  }

  /// Counts it no longer; to be called once, when it is dropped.
  func release(on server: ServerLoop) { server.endRequest(of: counted) }

  /// The response to the whole request, if it takes no task.
  var immediateResponse: Response? {
    switch plan {
    case .refuse(let response): response
    case .respond(_, let handler): handler(request)
    case .task, .stream, .upload, .webSocket: nil
    }
  }

  /// Starts the task that makes the response.
  ///
  /// - Parameter completion: receives the decision, on the loop unless that has ended.
  mutating func start(
    on server: ServerLoop, completion: @escaping @Sendable (StreamDecision) -> Void
  ) {
    switch plan {
    case .task(_, let handler):
      run(on: server, handler) { completion(.respond($0)) }
    case .stream(_, let handler):
      run(on: server, handler, completion)
    case .upload(_, let handler):
      run(on: server) { whole in
        var request = whole
        request.body = []
        return await handler(request, RequestBody(whole: whole.body))
      } _: {
        completion(.respond($0))
      }
    case .refuse, .respond, .webSocket: break
    }
  }

  /// Starts the task that takes the body while it comes.
  ///
  /// - Parameters:
  ///   - body: the body.
  ///   - completion: receives the response, on the loop unless that has ended.
  mutating func start(
    taking body: RequestBody, on server: ServerLoop,
    completion: @escaping @Sendable (Response) -> Void
  ) {
    guard case .upload(_, let handler) = plan else { return }
    run(on: server) {
      await handler($0, body)
    } _: {
      completion($0)
    }
  }

  /// Starts the task that decides on a WebSocket.
  ///
  /// - Parameter completion: takes the decision, on the loop unless that has ended.
  mutating func startHandshake(
    on server: ServerLoop, completion: @escaping @Sendable (WebSocketDecision) -> Void
  ) {
    guard case .webSocket(let handler) = plan else { return }
    run(on: server, handler, completion)
  }

  /// Runs a handler as a task, which counts as a request in progress until it is done.
  private mutating func run<Outcome: Sendable>(
    on server: ServerLoop, _ handler: @escaping @Sendable (Request) async -> Outcome,
    _ completion: @escaping @Sendable (Outcome) -> Void
  ) {
    // The task holds the request, also when the connection ends before it does.
    let request = request
    let client = counted.take()
    Task(executorPreference: server.loop) {
      let outcome = await handler(request)
      server.endRequest(of: client)
      completion(outcome)
    }
  }
}

extension RequestPlan {
  /// The longest body that is wanted, in bytes.
  var bodyLimit: Int {
    switch self {
    case .respond(let limit, _), .task(let limit, _), .stream(let limit, _),
      .upload(let limit, _):
      limit
    case .refuse, .webSocket: 0
    }
  }
}

/// The user of a WebSocket session; all calls come on the session's event loop.
package protocol WebSocketHandler: AnyObject {
  /// The bytes of messages that it was given and still holds, which the client is charged for.
  var heldBytes: Int { get }
  /// Takes a message.
  ///
  /// - Parameter message: the whole message, its fragments joined; text is valid UTF-8.
  func received(_ message: WebSocketMessage)
  /// Called when a ping was sent, behind all that was sent before.
  func pinged()
  /// Called when the peer has answered the last ping: all that was sent before it has arrived.
  func ponged()
  /// Called when all that waited above the low-water mark is sent.
  func drained()
  /// Called when the time given to ``WebSocketSession/setTimer(after:)`` is over.
  func timerFired()
  /// Called when the server is about to stop; the session is closed with 1001 right after this returns.
  func draining()
  /// Called when the session is over; nothing is called after this.
  ///
  /// - Parameter code: the peer's close code, 1005 for a close frame without one; nil when the connection ended
  ///   without a close frame.
  func closed(_ code: UInt16?)
}

extension WebSocketHandler {
  package var heldBytes: Int { 0 }
  package func pinged() {}
  package func ponged() {}
  package func drained() {}
  package func timerFired() {}
  package func draining() {}
}

/// A reference to an open WebSocket, usable from any thread and harmless after its end.
package final class WebSocketSession: Sendable {
  /// The loop that the session lives on.
  package let loop: EventLoop
  private let id: ConnectionID

  init(loop: EventLoop, id: ConnectionID) {
    self.loop = loop
    self.id = id
  }

  /// Sends a message; if more than the high-water mark would wait, the session is closed with 1013 instead.
  package func send(_ message: WebSocketMessage) { withConnection { $0.send(message) } }

  /// Begins the close handshake; the peer's close frame is awaited for five seconds.
  ///
  /// - Parameter reason: at most 123 bytes of text for the peer.
  package func close(_ code: UInt16, reason: String = "") {
    withConnection { $0.close(code, reason: reason) }
  }

  /// Writes sent messages at once instead of at the end of the turn. Call it on the session's loop.
  ///
  /// A handler that sends to many sessions in one turn calls this, so that none waits for all others.
  package func flush() { if loop.isCurrent { loop.connection(id)?.flush() } }

  /// What the session is charged for now, to be kept by work that may outlive it, until that is done; to be called on the session's
  /// loop.
  package var charge: (any AnyObject & Sendable)? { loop.isCurrent ? current?.charge : nil }

  /// Takes no further messages for now; to be called on the session's loop.
  ///
  /// One message and at most as much as one read gives are held back, the rest waits in the kernel. Pings that come
  /// before that message get their pongs.
  package func pauseReceiving() { if loop.isCurrent { current?.machine.pause() } }

  /// Takes nothing for now, not even pings; to be called on the session's loop.
  ///
  /// At most as much as one read gives is held back, as it came: ``limitMessages(to:)`` counts for it.
  package func stopReceiving() { if loop.isCurrent { current?.machine.stop() } }

  /// Changes the longest message that is taken, beginning with the next frame; to be called on the session's loop.
  ///
  /// A peer that isn't known yet needs less than one that has logged in.
  ///
  /// - Parameter size: the size in bytes; a longer message closes the session with 1009.
  package func limitMessages(to size: Int) {
    if loop.isCurrent { current?.machine.maximumMessage = size }
  }

  /// Takes messages again, with those that were held back first; to be called on the session's loop.
  package func resumeReceiving() { if loop.isCurrent { current?.resumeReceiving() } }

  /// Starts the session's timer, which calls ``WebSocketHandler/timerFired()`` once; an earlier start is forgotten.
  ///
  /// - Parameter duration: the time until then; the loop's clock ticks four times a second.
  package func setTimer(after duration: Duration) {
    withConnection { $0.setTimer(after: duration) }
  }

  /// The number of bytes that wait to be sent; 0 after the end, and on any other thread than the session's loop.
  package var backlog: Int { loop.isCurrent ? loop.connection(id)?.backlog ?? 0 : 0 }

  private var current: WebSocketConnection? {
    loop.connection(id)?.protocolHandler as? WebSocketConnection
  }

  private func withConnection(_ body: @escaping @Sendable (WebSocketConnection) -> Void) {
    let act = { @Sendable [self] in if let current { body(current) } }
    if loop.isCurrent { act() } else { loop.execute(act) }
  }
}
