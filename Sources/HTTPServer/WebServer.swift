package import Budgets
package import Cryptography
package import Formats
package import Platform
package import Transport

internal import Glibc
internal import Synchronization

/// An HTTP/1.1, HTTP/2 and WebSocket server: event loops, each with its own share of the connections.
package final class WebServer: Sendable {
  private let core: ServerCore
  private let serverLoops: [ServerLoop]
  private let state = Lock(State())

  private struct State {
    var bound: [Endpoint] = []
    var secure: [Endpoint] = []
    var running = 0
  }

  private let ended = Promise<Void>()

  /// Prepares a server; nothing listens before ``start()``.
  ///
  /// - Parameter report: takes warnings for an operator; called on any thread.
  /// - Throws: ``ServerError`` when an event loop can't be made or the credentials can't be used.
  package init(
    options: ServerOptions, responder: any Responder,
    report: @escaping @Sendable (String) -> Void
  ) throws(ServerError) {
    guard options.secureEndpoints.isEmpty || options.credentials != nil else {
      throw .noCredentials(nil)
    }
    var loops: [EventLoop] = []
    do throws(SystemError) {
      for index in 0..<options.threads { loops.append(try EventLoop(named: "awd-loop-\(index)")) }
    } catch { throw .noEventLoop(error) }
    let core: ServerCore
    do throws(TLSError) {
      core = try ServerCore(options: options, responder: responder, report: report)
    } catch { throw .noCredentials(error) }
    self.core = core
    serverLoops = loops.enumerated().map { ServerLoop($1, core: core, index: $0) }
  }

  /// Finds out whether a server could listen at an address now; makes no socket at a path.
  ///
  /// - Parameter access: the access rights of a socket at a path.
  /// - Returns: the reason why not, or nil if it could.
  package static func problem(
    listeningAt endpoint: Endpoint, socket access: SocketAccess = SocketAccess()
  ) -> ServerError? {
    do throws(ServerError) {
      if case .unix(let path) = endpoint {
        try endpoint.check(path: path, access)
        return nil
      }
      close(try endpoint.listen().descriptor)
      return nil
    } catch { return error }
  }

  /// The loops, as executors for work that belongs to none of them in particular.
  package var loops: [EventLoop] { serverLoops.map(\.loop) }

  /// The addresses that the server listens on without TLS, with the ports that the system chose.
  package var endpoints: [Endpoint] { state.withLock { $0.bound } }

  /// The addresses that the server listens on with TLS, with the ports that the system chose.
  package var secureEndpoints: [Endpoint] { state.withLock { $0.secure } }

  /// The credentials that TLS clients are shown now; nil without TLS.
  package var credentials: TLSCredentials? { core.tls?.credentials }

  /// Shows other credentials to the TLS clients that connect from now on; open connections stay as they are.
  ///
  /// - Parameter credentials: the new ones. A server that was made without any takes none.
  /// - Throws: ``TLSError`` when they can't be used; then the old ones stay.
  package func use(_ credentials: TLSCredentials) throws(TLSError) {
    try core.tls?.replace(by: credentials)
  }

  /// Opens the sockets and starts one thread a loop.
  ///
  /// - Throws: ``ServerError`` when an address can't be listened on or a thread is refused; then nothing runs.
  package func start() throws(ServerError) {
    // A peer that has gone must give an error, not a signal.
    signal(SIGPIPE, SIG_IGN)
    var sockets = [[ListeningSocket]](repeating: [], count: serverLoops.count)
    var bound: [Endpoint] = []
    var secure: [Endpoint] = []
    do throws(ServerError) {
      for endpoint in core.options.endpoints {
        bound.append(try open(endpoint, isSecure: false, into: &sockets))
      }
      for endpoint in core.options.secureEndpoints {
        secure.append(try open(endpoint, isSecure: true, into: &sockets))
      }
    } catch {
      for socket in sockets.joined() { close(socket.descriptor) }
      throw error
    }
    state.withLock {
      $0.bound = bound
      $0.secure = secure
      $0.running = serverLoops.count
    }
    var failure: ServerError?
    for (server, sockets) in zip(serverLoops, sockets) {
      // The loop's first act; a loop that can't be started never comes to it.
      server.loop.execute { server.listen(sockets) }
      do throws(SystemError) {
        try server.loop.start { [self] in loopEnded() }
      } catch {
        for socket in sockets { close(socket.descriptor) }
        loopEnded()
        failure = .noEventLoop(error)
      }
    }
    guard let failure else { return }
    for server in serverLoops { server.loop.execute { server.drain(within: .zero) } }
    throw failure
  }

  /// Opens one socket a loop.
  private func open(
    _ endpoint: Endpoint, isSecure: Bool, into sockets: inout [[ListeningSocket]]
  ) throws(ServerError) -> Endpoint {
    let (first, bound) = try endpoint.listen(socket: core.options.socketAccess)
    sockets[0].append(ListeningSocket(descriptor: first, isSecure: isSecure))
    for index in sockets.indices.dropFirst() {
      let next = try bound.join(first)
      sockets[index].append(ListeningSocket(descriptor: next, isSecure: isSecure))
    }
    return bound
  }

  /// Stops accepting, lets requests and close handshakes finish, and ends the loops.
  ///
  /// - Parameter limit: the time for that; connections that are left then are cut.
  package func drain(within limit: Duration) async {
    for server in serverLoops { server.loop.execute { server.drain(within: limit) } }
    if state.withLock({ $0.running > 0 }) { await ended.value }
    for case .unix(let path) in endpoints + secureEndpoints { unsafe unlink(path) }
  }

  private func loopEnded() {
    let isLast = state.withLock { state in
      state.running -= 1
      return state.running == 0
    }
    if isLast { ended.fulfill(()) }
  }

  /// The figures of the places for connections.
  package var connectionBudget: BudgetStatistics { core.places.statistics }

  /// The figures of the memory that peers make the server take.
  package var memoryBudget: BudgetStatistics { core.memory.statistics }

  /// The server's counters at this moment.
  package var statistics: ServerStatistics {
    var sum = ServerStatistics()
    for server in serverLoops { sum.add(server.statistics, server.loop.statistics) }
    return sum
  }
}

/// The reason for which a server can't run.
package enum ServerError: Error, Equatable, CustomStringConvertible {
  /// The address can't be listened on; the number is the system's `errno`.
  case cannotListen(Endpoint, Int32)
  /// An event loop or its thread can't be set up.
  case noEventLoop(SystemError)
  /// The credentials can't be used, or there are none for an endpoint that speaks TLS.
  case noCredentials(TLSError?)

  /// The fault and its remedy, for an operator.
  package var description: String {
    switch self {
    case .cannotListen(.unix(let path), ENOENT):
      "there is no folder for the socket \(path); make it, such as by RuntimeDirectory= in the unit"
    case .cannotListen(.unix(let path), EACCES):
      "the socket \(path) can't be made: the user of the server may not write in its folder"
    case .cannotListen(.unix(let path), ENAMETOOLONG): "the socket's path is too long: \(path)"
    case .cannotListen(.unix(let path), EADDRINUSE):
      "the socket \(path) is in use: another program listens there; stop it or choose another path"
    case .cannotListen(.unix(let path), EEXIST):
      "the socket \(path) can't be made: there is another file, which isn't removed; move it away or choose "
        + "another path"
    case .cannotListen(.unix(let path), EPERM):
      "the socket \(path) can't be given to the group of `socket_group`: the user of the server must be a "
        + "member of it"
    case .cannotListen(let endpoint, EADDRINUSE):
      "\(endpoint) is in use: another program listens there; stop it or choose another address"
    case .cannotListen(let endpoint, EACCES):
      "\(endpoint): permission denied; ports below 1024 need the right to bind them"
    case .cannotListen(let endpoint, let code):
      "cannot listen on \(endpoint): \(unsafe String(cString: strerror(code)))"
    case .noCredentials(let error?): "TLS: \(error)"
    case .noCredentials(nil): "TLS needs a certificate and its key"
    case .noEventLoop(let error): "cannot set up an event loop: \(error)"
    }
  }
}

/// The access rights of a Unix-domain socket.
package struct SocketAccess: Sendable {
  /// The file mode.
  package var mode: UInt32
  /// The group of the file, or nil for the process's own.
  package var group: UInt32?

  package init(mode: UInt32 = 0o660, group: UInt32? = nil) {
    self.mode = mode
    self.group = group
  }
}

/// A server's addresses, and the limits of its peers.
package struct ServerOptions: Sendable {
  /// The addresses for connections without TLS.
  package var endpoints: [Endpoint]
  /// The addresses for connections with TLS, which need ``credentials``.
  package var secureEndpoints: [Endpoint] = []
  /// The credentials that TLS clients are shown.
  package var credentials: TLSCredentials?
  /// The access rights of the Unix-domain sockets among the addresses.
  package var socketAccess = SocketAccess()
  /// The number of event loops, each with a thread of its own.
  package var threads: Int
  /// The longest request line with header fields, in bytes.
  package var head = 16 << 10
  /// The time in which a whole request head must come.
  package var headerTimeout: Duration = .seconds(10)
  /// The time that a connection may rest between requests.
  package var idleTimeout: Duration = .seconds(60)
  /// The largest number of open connections; beyond it the idlest one of the client that has most is closed.
  package var connections = 16_000
  /// The largest number of open connections of one client's network; nil for a quarter of ``connections``.
  package var connectionsPerAddress: Int?
  /// The largest number of bytes of request bodies, WebSocket messages and unread output that all connections hold;
  /// beyond it the largest one of the owner that has most is cut.
  package var memory = 256 << 20
  /// The largest number of these bytes that one owner holds; nil for a quarter of ``memory``.
  package var memoryPerOwner: Int?
  /// The largest number of requests of one client's network that are in progress on an event loop; beyond it they get 429.
  package var requestsPerAddress = 1024
  /// The bytes a second that a body, or a response that waits to be read, must move on average.
  package var minimumRate = 512
  /// The time that a transfer may stall before ``minimumRate`` is held against it.
  package var rateGrace: Duration = .seconds(15)

  /// Options with the default limits.
  ///
  /// - Parameters:
  ///   - endpoints: the addresses for connections without TLS.
  ///   - threads: the number of event loops, at least one.
  package init(endpoints: [Endpoint], threads: Int = 1) {
    self.endpoints = endpoints
    self.threads = max(1, threads)
  }
}

/// The counters of a server at one moment.
package struct ServerStatistics: Sendable, Equatable {
  /// Connections that are open now, WebSockets among them.
  package var connections = 0
  /// WebSocket sessions that are open now.
  package var webSockets = 0
  /// Connections accepted since the start.
  package var accepted = 0
  /// Pauses in accepting, because descriptors had run out.
  package var acceptPauses = 0
  /// Requests refused before any handler saw them: malformed, too large, too slow.
  package var refusedRequests = 0
  /// Requests refused with 429, because their client had too many in progress.
  package var limitedRequests = 0
  /// The longest turn of a loop in the last minute or two, in milliseconds.
  package var longestTurn = 0
  /// Connections cut because the peer read or wrote too slowly.
  package var cutConnections = 0
  /// TLS handshakes completed.
  package var tlsHandshakes = 0
  /// TLS handshakes that failed, and connections that broke TLS later.
  package var tlsFailures = 0
  /// HTTP/2 connections ended with `ENHANCE_YOUR_CALM`, because the peer gave more work than it took responses.
  package var enhanceYourCalm = 0
  /// Bytes taken from sockets.
  package var bytesReceived = 0
  /// Bytes given to sockets.
  package var bytesSent = 0
}

/// The counters of one loop that its connections do not keep, written by its thread and read by any.
final class LoopStatistics: Sendable {
  let webSockets = Atomic<Int>(0)
  let accepted = Atomic<Int>(0)
  let acceptPauses = Atomic<Int>(0)
  let refusedRequests = Atomic<Int>(0)
  let limitedRequests = Atomic<Int>(0)
  let enhanceYourCalm = Atomic<Int>(0)
}

extension ServerStatistics {
  /// Adds the counters of one loop.
  mutating func add(_ loop: LoopStatistics, _ connections: ConnectionStatistics) {
    self.connections += connections.open.value
    webSockets += loop.webSockets.value
    accepted += loop.accepted.value
    acceptPauses += loop.acceptPauses.value
    refusedRequests += loop.refusedRequests.value
    limitedRequests += loop.limitedRequests.value
    longestTurn = max(longestTurn, connections.longestTurn.value)
    cutConnections += connections.cut.value
    tlsHandshakes += connections.tlsHandshakes.value
    tlsFailures += connections.tlsFailures.value
    enhanceYourCalm += loop.enhanceYourCalm.value
    bytesReceived += connections.bytesReceived.value
    bytesSent += connections.bytesSent.value
  }
}
