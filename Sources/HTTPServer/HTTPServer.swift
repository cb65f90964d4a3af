package import Formats
package import Budgets
package import Cryptography
internal import Glibc
internal import Platform
package import Transport

/// An HTTP/1.1, HTTP/2 and WebSocket server: event loops, each with its own share of the connections.
package final class HTTPServer: Sendable {
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
  /// - Parameters:
  ///   - options: its addresses and limits.
  ///   - responder: responds to the requests.
  ///   - report: takes warnings for an operator; called on any thread.
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
    let (first, bound) = try endpoint.listen()
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
