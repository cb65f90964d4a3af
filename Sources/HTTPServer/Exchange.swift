internal import Formats
internal import HTTPProtocol

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
    case .task, .webSocket: nil
    }
  }

  /// Starts the task that makes the response.
  ///
  /// - Parameter completion: takes the response, on the loop unless that has ended.
  mutating func start(on server: ServerLoop, completion: @escaping @Sendable (Response) -> Void) {
    guard case .task(_, let handler) = plan else { return }
    // The task holds the request, also when the connection ends before it does.
    let (request, client) = (request, counted.take())
    Task(executorPreference: server.loop) {
      let response = await handler(request)
      server.endRequest(of: client)
      completion(response)
    }
  }

  /// Starts the task that decides on a WebSocket.
  ///
  /// - Parameter completion: takes the decision, on the loop unless that has ended.
  mutating func startHandshake(
    on server: ServerLoop, completion: @escaping @Sendable (WebSocketDecision) -> Void
  ) {
    guard case .webSocket(let handler) = plan else { return }
    let (request, client) = (request, counted.take())
    Task(executorPreference: server.loop) {
      let decision = await handler(request)
      server.endRequest(of: client)
      completion(decision)
    }
  }
}

extension RequestPlan {
  /// The longest body that is wanted, in bytes.
  var bodyLimit: Int {
    switch self {
    case .respond(let limit, _), .task(let limit, _): limit
    case .refuse, .webSocket: 0
    }
  }
}
