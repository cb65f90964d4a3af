internal import CUV
internal import Glibc
internal import HTTPProtocol
internal import SystemCalls
internal import Threading

/// One libuv loop on a thread of its own that carries any number of WebSockets.
@safe
final class WebSocketLoop: @unchecked Sendable {
  // Safe to share: other threads only touch `mailbox` and `wakeUp` (uv_async_send may be called from
  // anywhere); all else belongs to the loop's own thread once that has started.

  /// What other threads ask of the loop.
  enum Message: Sendable {
    /// Resolves, connects and asks for a WebSocket.
    case open(UInt64, WebSocketURL, HeaderFields, WebSocketOptions, WebSocketState)
    /// Sends a message.
    case send(UInt64, WebSocketMessage)
    /// Reads on.
    case resume(UInt64)
    /// Begins the close handshake.
    case close(UInt64, UInt16, reason: String)
    /// Drops a connection.
    case abort(UInt64)
    /// Ends the loop once the last WebSocket has ended. Nothing is asked of it afterwards.
    case stop
  }

  private let mailbox = Lock<[Message]>([])
  private let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
  private let wakeUp = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
  private let clock = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
  private var links: [UInt64: WebSocketLink] = [:]
  private var isStopping = false

  /// What sockets are read into; valid for one callback.
  let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)

  private static let tickMilliseconds: UInt64 = 100

  init() throws(WebSocketError) {
    guard unsafe uv_loop_init(loop) == 0 else { throw Self.exhausted }
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    let failed = unsafe uv_async_init(loop, wakeUp) { handle in
      guard let handle = unsafe handle else { return }
      unsafe WebSocketLoop.of(handle.pointee.data).readMailbox()
    }
    guard failed == 0 else {
      unsafe uv_loop_close(loop)
      throw Self.exhausted
    }
    unsafe uv_timer_init(loop, clock)
    unsafe wakeUp.pointee.data = unsafe this
    unsafe clock.pointee.data = unsafe this
  }

  deinit {
    unsafe loop.deallocate()
    unsafe wakeUp.deallocate()
    unsafe clock.deallocate()
    unsafe readBuffer.deallocate()
  }

  private static let exhausted = WebSocketError(
    .outOfResources, "the system has no room for an event loop")

  private static func of(_ data: UnsafeMutableRawPointer?) -> WebSocketLoop {
    // Every handle of a loop carries it from before its first callback.
    guard let data = unsafe data else { preconditionFailure("a libuv handle without its loop") }
    return unsafe Unmanaged<WebSocketLoop>.fromOpaque(data).takeUnretainedValue()
  }

  // MARK: - Life

  /// Starts the thread, with all signals left to other threads: a write to a broken connection
  /// raises SIGPIPE here.
  func start() throws(WebSocketError) {
    do throws(SystemError) { _ = try WorkerThread(named: "awd-websocket") { self.run() } } catch {
      closeOwnHandles()
      run()
      throw Self.exhausted
    }
  }

  private func run() {
    unsafe uv_run(loop, UV_RUN_DEFAULT)
    unsafe uv_loop_close(loop)
  }

  private func closeOwnHandles() {
    unsafe uv_close(UnsafeMutableRawPointer(clock).assumingMemoryBound(to: uv_handle_t.self), nil)
    unsafe uv_close(UnsafeMutableRawPointer(wakeUp).assumingMemoryBound(to: uv_handle_t.self), nil)
  }

  // MARK: - Messages

  /// Asks something of the loop, from any thread; what one thread asks is done in its order.
  func post(_ message: Message) {
    let isFirst = mailbox.withLock { messages in
      messages.append(message)
      return messages.count == 1
    }
    if isFirst { unsafe uv_async_send(wakeUp) }
  }

  private func readMailbox() {
    let messages = mailbox.withLock { messages in
      defer { messages = [] }
      return messages
    }
    var written: [UInt64: WebSocketLink] = [:]
    for message in messages {
      switch message {
      case .open(let id, let url, let fields, let options, let state):
        open(id, url, fields, options, state)
      case .send(let id, let message):
        links[id]?.send(message)
        written[id] = links[id]
      case .resume(let id): links[id]?.resume()
      case .close(let id, let code, let reason): links[id]?.close(code, reason: reason)
      case .abort(let id): links[id]?.abort(.cancelled)
      case .stop:
        isStopping = true
        endIfDone()
      }
    }
    // Many small messages go out in one write.
    for link in written.values { link.flush() }
  }

  private func open(
    _ id: UInt64, _ url: WebSocketURL, _ fields: HeaderFields, _ options: WebSocketOptions,
    _ state: WebSocketState
  ) {
    if links.isEmpty {
      unsafe uv_timer_start(
        clock,
        { handle in
          guard let handle = unsafe handle else { return }
          unsafe WebSocketLoop.of(handle.pointee.data).tick()
        }, Self.tickMilliseconds, Self.tickMilliseconds)
    }
    let link = WebSocketLink(id, url, fields, options, state, loop: self)
    links[id] = link
    unsafe link.resolve(on: loop)
  }

  /// Forgets a link that has nothing open any more.
  func remove(_ id: UInt64) {
    links[id] = nil
    if links.isEmpty { unsafe uv_timer_stop(clock) }
    endIfDone()
  }

  private func endIfDone() {
    if isStopping && links.isEmpty { closeOwnHandles() }
  }

  // MARK: - Time

  /// The loop's clock in milliseconds, as of the start of this turn.
  var now: UInt64 { unsafe uv_now(loop) }

  private func tick() {
    for link in Array(links.values) { link.tick() }
  }
}
