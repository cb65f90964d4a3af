internal import Glibc
internal import Locking

/// An HTTP/1.1 and WebSocket server: event loops, each with its own share of the connections.
public final class HTTPServer: Sendable {
  private let core: ServerCore
  /// The loops, as executors for work that belongs to none of them in particular.
  public let loops: [EventLoop]
  private let state = Lock(State())

  private struct State {
    var bound: [Endpoint] = []
    var running = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// Prepares a server; nothing listens before ``start()``.
  ///
  /// - Parameters:
  ///   - options: where it listens and what it grants.
  ///   - responder: what answers the requests.
  ///   - report: told of troubles that an operator should know, in words; called on any thread.
  /// - Throws: ``ServerError`` when an event loop can't be made.
  public init(
    options: ServerOptions, responder: any Responder,
    report: @escaping @Sendable (String) -> Void
  ) throws(ServerError) {
    let core = ServerCore(options: options, responder: responder, report: report)
    var loops: [EventLoop] = []
    for index in 0..<options.threads { loops.append(try EventLoop(server: core, index: index)) }
    self.core = core
    self.loops = loops
  }

  /// Where the server really listens, with the ports that the system chose.
  public var endpoints: [Endpoint] { state.withLock { $0.bound } }

  /// Opens the sockets and starts one thread a loop.
  ///
  /// - Throws: ``ServerError`` when an address can't be listened on; then nothing runs.
  public func start() throws(ServerError) {
    // A peer that has gone must give an error, not a signal.
    signal(SIGPIPE, SIG_IGN)
    var sockets = [[Int32]](repeating: [], count: loops.count)
    var bound: [Endpoint] = []
    do throws(ServerError) {
      for endpoint in core.options.endpoints {
        bound.append(try open(endpoint, into: &sockets))
      }
    } catch {
      for socket in sockets.joined() { close(socket) }
      throw error
    }
    state.withLock {
      $0.bound = bound
      $0.running = loops.count
    }
    for (loop, sockets) in zip(loops, sockets) {
      loop.start(sockets: sockets) { [self] in loopEnded() }
    }
  }

  /// Opens one socket a loop.
  private func open(
    _ endpoint: Endpoint, into sockets: inout [[Int32]]
  ) throws(ServerError) -> Endpoint {
    let (first, bound) = try endpoint.listen()
    sockets[0].append(first)
    for index in sockets.indices.dropFirst() { sockets[index].append(try bound.join(first)) }
    return bound
  }

  /// Stops accepting, lets requests and close handshakes finish, and ends the loops.
  ///
  /// - Parameter limit: how long that may take; what is left then is cut.
  public func drain(within limit: Duration) async {
    for loop in loops { loop.execute { loop.drain(within: limit.milliseconds) } }
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.running > 0 { state.waiters.append(continuation) }
        return state.running == 0
      }
      if isOver { continuation.resume() }
    }
    for case .unix(let path) in endpoints { unsafe unlink(path) }
  }

  private func loopEnded() {
    let waiters = state.withLock { state in
      state.running -= 1
      guard state.running == 0 else { return [CheckedContinuation<Void, Never>]() }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// The server's counters at this moment.
  public var statistics: ServerStatistics {
    var sum = ServerStatistics()
    for loop in loops { loop.statistics.add(to: &sum) }
    return sum
  }
}
