internal import Formats
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import Platform

/// A server on a free port of 127.0.0.1.
struct TestServer: Sendable {
  let server: WebServer
  let port: UInt16

  /// Waits at most a minute for a condition on the server's statistics.
  ///
  /// - Returns: whether it holds.
  func eventually(_ condition: (ServerStatistics) -> Bool) -> Bool {
    TestServer.eventually { condition(server.statistics) }
  }

  /// Waits at most a minute for a condition.
  ///
  /// - Returns: whether it holds.
  static func eventually(_ condition: () -> Bool) -> Bool {
    (try? blockUntil(condition)) != nil
  }

  func connect(from source: UInt8 = 1, receiveBuffer: Int32? = nil) throws -> Client {
    try Client(port: port, source: source, receiveBuffer: receiveBuffer)
  }

  /// Begins to drain on a task of its own.
  ///
  /// - Returns: whether the drain has returned, to be asked again and again.
  func beginDrain(within limit: Duration = .seconds(60)) -> Flag {
    let isOver = Flag()
    // Not in the pool, where it may wait behind the tests of other suites.
    Task(executorPreference: BlockableExecutor.shared) { [server] in
      await server.drain(within: limit)
      isOver.set()
    }
    return isOver
  }
}

extension ServerOptions {
  /// Options for a free port of 127.0.0.1.
  static func local(
    threads: Int = 1, _ configure: (inout ServerOptions) -> Void = { _ in }
  ) -> ServerOptions {
    var options = ServerOptions(endpoints: [.tcp(.loopback, port: 0)], threads: threads)
    configure(&options)
    return options
  }
}

/// Responds as a closure says.
struct ClosureResponder: Responder {
  let body: @Sendable (String, RequestHead) -> RequestPlan

  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    body(String(decoding: head.path, as: UTF8.self), head)
  }

  func tooLarge(_ head: RequestHead) -> Response {
    let path = String(decoding: head.path, as: UTF8.self)
    return Response(.contentTooLarge, type: "text/plain", text: "too large for \(path)")
  }
}

/// Runs a server, lets a closure on a thread of its own talk to it, and drains it.
///
/// The closure may block: the tasks of other tests go on without its thread.
func withServer(
  _ options: @autoclosure () throws -> ServerOptions = .local(),
  plan: @escaping @Sendable (String, RequestHead) -> RequestPlan = standardPlan,
  test: @escaping @Sendable (TestServer) throws -> Void
) async throws {
  let server = try WebServer(
    options: options(), responder: ClosureResponder(body: plan), report: { _ in })
  try server.start()
  let ports = (server.endpoints + server.secureEndpoints).compactMap { endpoint -> UInt16? in
    if case .tcp(_, let port) = endpoint { port } else { nil }
  }
  let running = TestServer(server: server, port: ports.first ?? 0)
  do {
    try await onThread { try test(running) }
  } catch {
    await server.drain(within: .zero)
    throw error
  }
  await server.drain(within: .seconds(5))
  #expect(server.statistics.connections == 0)
  #expect(server.statistics.webSockets == 0)
}

/// Runs a test that must have done its part before a deadline of the server: if it fails, again with a longer one, as the
/// machine may have stood still for the first.
///
/// - Parameter test: is given the deadline, and fails by throwing.
func patiently(_ test: (Duration) async throws -> Void) async throws {
  for deadline in [Duration.milliseconds(600), .seconds(4)] {
    if (try? await test(deadline)) != nil { return }
  }
  try await test(.seconds(20))
}

/// The failure of a test's demand.
struct Unmet: Error {
  let description: String
}

/// Throws unless something holds.
func demand(_ isMet: Bool, _ description: String) throws {
  if !isMet { throw Unmet(description: description) }
}

/// Blocks the thread, for tests of the passing of time itself.
func pause(milliseconds: UInt32) { usleep(milliseconds * 1000) }

/// The routes that most tests ask for.
///
/// `/echo` responds with the request's body inline, `/late` with a task that suspends, `/n/…` and `/slow/…` likewise
/// with the path, `/peer` with the peer's address, `/ws` echoes messages; all else is refused with 404. The tasks sleep
/// so that later requests come before earlier responses: no test waits for the time to pass.
let standardPlan: @Sendable (String, RequestHead) -> RequestPlan = { path, _ in
  switch path {
  case "/echo":
    return .respond(bodyLimit: 1 << 20) { Response(.ok, body: .array($0.body)) }
  case "/late":
    return .task(bodyLimit: 1 << 20) { request in
      try? await Task.sleep(for: .milliseconds(3))
      return Response(.ok, body: .array(request.body))
    }
  case "/peer":
    return .respond(bodyLimit: 0) { Response(.ok, type: "text/plain", text: $0.origin.peer) }
  case "/ws": return .webSocket { _ in .accept(WebSocketAcceptance { Echo($0) }) }
  case _ where path.hasPrefix("/n/"):
    return .respond(bodyLimit: 0) { _ in Response(.ok, type: "text/plain", text: path) }
  case _ where path.hasPrefix("/slow/"):
    return .task(bodyLimit: 0) { _ in
      try? await Task.sleep(for: .milliseconds(path.utf8.last.map { Int($0 % 4) } ?? 0))
      return Response(.ok, type: "text/plain", text: path)
    }
  default: return .refuse(Response(.notFound))
  }
}

/// Sends every message back.
final class Echo: WebSocketHandler {
  private let session: WebSocketSession

  init(_ session: WebSocketSession) { self.session = session }

  func received(_ message: WebSocketMessage) { session.send(message) }

  func closed(_ code: UInt16?) {}
}

/// A flag that threads share; once set, it stays set.
final class Flag: Sendable {
  private let state = Lock(false)

  var isSet: Bool { state.withLock { $0 } }

  func set() { state.withLock { $0 = true } }
}

/// Holds tasks until it is opened.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Lock(State())

  /// The number of tasks that wait.
  var waiting: Int { state.withLock { $0.waiters.count } }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiters.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}

/// Collects what handlers tell, from any thread.
final class Journal<Entry: Sendable>: Sendable {
  private let state = Lock<[Entry]>([])

  var entries: [Entry] { state.withLock { $0 } }

  func note(_ entry: Entry) { state.withLock { $0.append(entry) } }
}
