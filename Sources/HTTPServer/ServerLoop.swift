internal import Budgets
internal import Cryptography
internal import Formats
internal import Glibc
internal import HTTPProtocol
internal import Platform
internal import Transport

/// A server's part of one event loop: its listeners, its connections, and the fields that are common to all responses.
final class ServerLoop: @unchecked Sendable {
  // Safe to share: other threads only touch `loop`, `statistics` and constants; all else belongs to the loop's thread.
  let loop: EventLoop
  let core: ServerCore
  let statistics = LoopStatistics()
  private var listeners: [Listener] = []
  private var handshakes: HandshakeTurns?
  private(set) var isDraining = false
  private var requestCount: UInt64 = 0
  private let requestBase: UInt64
  /// The requests in progress, by the clients that have any.
  private var requests: [ClientNetwork: Int] = [:]
  private var date = HTTPDate(0)
  private var preparedDateLine: [UInt8] = []

  init(_ loop: EventLoop, core: ServerCore, index: Int) {
    self.loop = loop
    self.core = core
    requestBase = UInt64(index) << 48
  }

  // MARK: - Life

  /// Takes connections from listening sockets, which belong to the loop from now on.
  func listen(_ sockets: [ListeningSocket]) {
    listeners = sockets.compactMap { Listener($0, self) }
    handshakes = HandshakeTurns(on: loop)
  }

  /// Stops accepting, lets every connection finish, and ends the loop; at the deadline what is left is cut.
  ///
  /// - Parameter limit: the time that connections have.
  func drain(within limit: Duration) {
    guard !isDraining else { return }
    isDraining = true
    for listener in listeners { listener.close() }
    listeners = []
    handshakes?.close()
    handshakes = nil
    loop.forEachConnection { ($0.protocolHandler as? any ServedProtocol)?.drain() }
    loop.end(within: limit)
  }

  /// Takes an accepted socket.
  ///
  /// - Parameters:
  ///   - isLocal: whether it is a Unix socket.
  ///   - isSecure: whether it speaks TLS.
  func accept(_ descriptor: Int32, isLocal: Bool, isSecure: Bool, peer: String) {
    var tls: TLSEndpoint?
    if isSecure {
      tls = core.tls.flatMap { TLSEndpoint($0.context, .server) }
      guard tls != nil else {
        close(descriptor)
        return
      }
    }
    let connection = loop.adopt(
      descriptor, isLocal: isLocal, peer: peer, tls: tls, minimumRate: core.minimumRate)
    guard let connection else { return }
    statistics.accepted.bump()
    guard let peer = Peer(of: connection, core) else { return connection.abort() }
    connection.owner = peer
    connection.turnOwner = peer.isProxy ? nil : WorkOwner(client: peer.network)
    guard isSecure else { return connection.start(HTTP1Connection(connection, peer, self)) }
    connection.start(TLSHandshake(connection, peer, self))
    handshakes?.begin(connection, for: peer.network)
  }

  // MARK: - Responses

  /// The `Date` line of responses, prepared once a second. The clock is asked each time, as it may be set.
  var dateLine: [UInt8] {
    let now = HTTPDate(Int64(time(nil)))
    if now != date {
      date = now
      preparedDateLine = now.fieldLine
    }
    return preparedDateLine
  }

  /// Returns the origin of a request, with a number unlike any other of this process.
  func origin(of head: RequestHead, from peer: Peer) -> RequestOrigin {
    requestCount &+= 1
    return peer.origin(of: head, id: requestBase | requestCount)
  }

  /// Counts a request that takes time.
  ///
  /// - Returns: whether its client may have one more; then ``endRequest(of:)`` is to be called.
  func beginRequest(of client: ClientNetwork?) -> Bool {
    guard let client else { return true }
    let count = requests[client, default: 0]
    guard count < core.options.requestsPerAddress else {
      statistics.limitedRequests.bump()
      return false
    }
    requests[client] = count + 1
    return true
  }

  /// Records the end of a request.
  func endRequest(of client: ClientNetwork?) {
    // A task that outlives the loop ends elsewhere.
    guard let client, loop.isCurrent, let count = requests[client] else { return }
    requests[client] = count > 1 ? count - 1 : nil
  }

  /// The response to a request of a client that has too many in progress.
  var tooManyRequests: Response {
    var response = Response(.tooManyRequests)
    response.fields.append(.retryAfter, "1")
    return response
  }

  /// Counts a request whose body is too long, and makes its response.
  func tooLarge(_ head: RequestHead) -> Response {
    statistics.refusedRequests.bump()
    return core.responder.tooLarge(head)
  }

  /// Counts a request that no handler sees, and makes its response.
  func response(to failure: RequestFailure) -> Response {
    statistics.refusedRequests.bump()
    var response = Response(failure.status)
    if failure.status == .serviceUnavailable || failure.status == .tooManyRequests {
      response.fields.append(.retryAfter, "1")
    }
    return response
  }
}

/// A protocol that a server speaks on a connection.
protocol ServedProtocol: ConnectionProtocol {
  /// Called when the server is about to stop.
  func drain()
  /// Records that memory was given to somebody else, because its owner had most: it is to be freed.
  func lostMemory(of owner: ClientNetwork?)
}

/// The part of a server that all its loops share: options, credentials and budgets.
final class ServerCore: Sendable {
  let options: ServerOptions
  let responder: any Responder
  /// The identity that is shown to TLS clients; nil without credentials.
  let tls: TLSIdentity?
  /// The limits of a request.
  let limits: RequestParser.Limits
  /// The rate at which peers must read and write.
  let minimumRate: MinimumRate
  /// The places of connections.
  let places: Budget<ClientNetwork>
  /// The memory that peers make the server take.
  let memory: Budget<ClientNetwork>
  private let memoryShare: Int
  private let placeShare: Int
  private let onReport: @Sendable (String) -> Void
  private let lastReport = Lock<[String: Int]>([:])

  init(
    options: ServerOptions, responder: any Responder,
    report: @escaping @Sendable (String) -> Void
  ) throws(TLSError) {
    tls = try options.credentials.map { credentials throws(TLSError) in
      try TLSIdentity(credentials, report: report)
    }
    var limits = RequestParser.Limits()
    limits.head = options.head
    self.limits = limits
    self.options = options
    self.responder = responder
    let connections = min(options.connections, ServerCore.descriptors)
    placeShare = options.connectionsPerAddress ?? max(1, connections / 4)
    places = Budget(capacity: connections, share: placeShare, loss: .idlest)
    memoryShare = options.memoryPerOwner ?? options.memory / 4
    memory = Budget(capacity: options.memory, share: memoryShare)
    minimumRate = MinimumRate(bytesPerSecond: options.minimumRate, grace: options.rateGrace)
    onReport = report
  }

  /// The number of descriptors that connections may have: others are left for files and for connections that end. With more
  /// places than descriptors newcomers would wait in the kernel's queue, and no owner would lose a place to them.
  private static var descriptors: Int {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return .max
    }
    let all = Int(clamping: limit.rlim_cur)
    return max(1, all - min(all / 4, 512))
  }

  /// Returns the refusal of memory: 429 if the owner has its share, 503 if the server has no more.
  func refusal(of charge: MemoryCharge?) -> RequestFailure {
    if let charge, let owner = charge.owner,
      memory.held(by: owner) + charge.missing > memoryShare
    {
      return RequestFailure(.tooManyRequests, "the client has its share of the memory")
    }
    return RequestFailure(.serviceUnavailable, "no memory is left for request bodies")
  }

  /// Returns the refusal of a place for a WebSocket.
  func placeRefusal(of client: ClientNetwork?) -> RequestFailure {
    if let client, places.held(by: client) >= placeShare {
      return RequestFailure(.tooManyRequests, "the client has its share of the connections")
    }
    return RequestFailure(.serviceUnavailable, "no place is left for connections")
  }

  /// Reports a warning, each at most once a minute: a flood must not fill the log too.
  func report(_ message: String) {
    let now = time(nil)
    let isDue = lastReport.withLock { last in
      if let before = last[message], now - before < 60 { return false }
      last[message] = now
      return true
    }
    if isDue { onReport(message) }
  }
}
