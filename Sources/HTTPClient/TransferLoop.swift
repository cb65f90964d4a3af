internal import CCurl
internal import CUV
internal import Glibc
internal import SystemCalls
internal import Threading

/// One libuv loop on a thread of its own that drives libcurl's multi interface.
///
/// It is no loop of a server: a handshake or a slow trust store stalls nobody but other requests
/// of the same client.
@safe
final class TransferLoop: @unchecked Sendable {
  // Safe to share: other threads only touch `mailbox` and `wakeUp` (uv_async_send may be called from
  // anywhere); all else belongs to the loop's own thread once that has started.

  /// What other threads ask of the loop.
  enum Message: Sendable {
    /// Sends a request; the closure is called once, on the loop's thread.
    case begin(
      UInt64, OutgoingRequest, @Sendable (Result<IncomingResponse, HTTPClientError>) -> Void)
    /// Ends a transfer, if it is still under way.
    case cancel(UInt64)
    /// Ends the loop. Nothing is asked of it afterwards.
    case stop
  }

  private let options: HTTPClientOptions
  private let mailbox = Lock<[Message]>([])
  private let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
  private let wakeUp = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
  private let timer = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
  private let multi: UnsafeMutableRawPointer
  private var transfers: [UInt64: Transfer] = [:]
  private var watches: [curl_socket_t: SocketWatch] = [:]
  /// How many answers have been whole.
  private var answers: UInt64 = 0
  /// Which answer was the last on a connection from a local port, counted from 1. What an older connection from the same
  /// port leaves behind is too old to matter.
  private var lastAnswers: [Int: UInt64] = [:]

  /// Starts libcurl, once a process.
  private static let isLibraryReady = curl_global_init(ccurl_global_all) == CURLE_OK

  init(_ options: HTTPClientOptions) throws(HTTPClientError) {
    let exhausted = HTTPClientError(.outOfResources, "libcurl or libuv can't be started")
    self.options = options
    guard Self.isLibraryReady, let multi = unsafe curl_multi_init() else { throw exhausted }
    unsafe self.multi = unsafe multi
    guard unsafe uv_loop_init(loop) == 0 else {
      unsafe curl_multi_cleanup(multi)
      throw exhausted
    }
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    let failed = unsafe uv_async_init(loop, wakeUp) { handle in
      guard let handle = unsafe handle else { return }
      unsafe TransferLoop.of(handle.pointee.data).readMailbox()
    }
    guard failed == 0 else {
      unsafe uv_loop_close(loop)
      unsafe curl_multi_cleanup(multi)
      throw exhausted
    }
    unsafe uv_timer_init(loop, timer)
    unsafe wakeUp.pointee.data = unsafe this
    unsafe timer.pointee.data = unsafe this
    unsafe ccurl_multi_set_socket_callback(multi) { _, socket, what, loop, _ in
      unsafe TransferLoop.of(loop).watch(socket, what)
      return 0
    }
    unsafe ccurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, this)
    unsafe ccurl_multi_set_timer_callback(multi) { _, milliseconds, loop in
      unsafe TransferLoop.of(loop).setTimer(milliseconds)
      return 0
    }
    unsafe ccurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, this)
    unsafe ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX)
    unsafe ccurl_multi_set_long(
      multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.connectionsPerHost)
    unsafe ccurl_multi_set_long(
      multi, CURLMOPT_MAX_CONCURRENT_STREAMS, options.streamsPerConnection)
  }

  deinit {
    unsafe loop.deallocate()
    unsafe wakeUp.deallocate()
    unsafe timer.deallocate()
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> TransferLoop {
    // Every callback of a loop is registered with it.
    guard let data = unsafe data else { preconditionFailure("a callback without its loop") }
    return unsafe Unmanaged<TransferLoop>.fromOpaque(data).takeUnretainedValue()
  }

  // MARK: - Life

  /// Starts the thread, with all signals left to other threads: a write to a broken connection
  /// raises SIGPIPE here.
  func start() throws(HTTPClientError) {
    do throws(SystemError) { _ = try WorkerThread(named: "awd-client") { self.run() } } catch {
      close()
      run()
      throw HTTPClientError(.outOfResources, "the system has no room for a thread")
    }
  }

  private func run() {
    unsafe uv_run(loop, UV_RUN_DEFAULT)
    unsafe uv_loop_close(loop)
  }

  private func close() {
    for id in transfers.keys { end(id, .failure(.cancelled)) }
    // Closes the connections, and with them the watches.
    unsafe curl_multi_cleanup(multi)
    for socket in watches.keys { watch(socket, CURL_POLL_REMOVE) }
    unsafe uv_close(asHandle(timer), nil)
    unsafe uv_close(asHandle(wakeUp), nil)
  }

  private func asHandle<T>(_ handle: UnsafeMutablePointer<T>) -> UnsafeMutablePointer<uv_handle_t> {
    unsafe UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
  }

  // MARK: - Messages

  /// Asks something of the loop, from any thread.
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
    for message in messages {
      switch message {
      case .begin(let id, let request, let completion): begin(id, request, completion)
      case .cancel(let id): end(id, .failure(.cancelled))
      case .stop: return close()
      }
    }
  }

  // MARK: - Transfers

  private func begin(
    _ id: UInt64, _ request: OutgoingRequest,
    _ completion: @escaping @Sendable (Result<IncomingResponse, HTTPClientError>) -> Void
  ) {
    do throws(HTTPClientError) {
      let transfer = try Transfer(
        id, request, options, answersBefore: answers, completion: completion)
      transfers[id] = transfer
      guard unsafe curl_multi_add_handle(multi, transfer.handle) == CURLM_OK else {
        transfers[id] = nil
        throw HTTPClientError(.outOfResources, "libcurl can't begin the transfer")
      }
    } catch {
      completion(.failure(error))
    }
  }

  private func end(_ id: UInt64, _ result: Result<IncomingResponse, HTTPClientError>) {
    guard let transfer = transfers.removeValue(forKey: id) else { return }
    unsafe curl_multi_remove_handle(multi, transfer.handle)
    transfer.completion(result)
  }

  /// Lets libcurl act, and ends the transfers that came to their end.
  private func act(on socket: curl_socket_t, _ events: Int32) {
    var running: Int32 = 0
    unsafe curl_multi_socket_action(multi, socket, events, &running)
    var left: Int32 = 0
    while let message = unsafe curl_multi_info_read(multi, &left) {
      guard unsafe message.pointee.msg == CURLMSG_DONE,
        let transfer = unsafe Transfer.of(message.pointee.easy_handle)
      else { continue }
      let code = unsafe message.pointee.data.result
      judgeConnection(of: transfer, code)
      end(transfer.id, transfer.result(code))
    }
  }

  /// Cuts the connection of a request that timed out if nothing at all was answered on it meanwhile.
  ///
  /// libcurl ends the stream only, and would send the next requests into the same silence.
  private func judgeConnection(of transfer: Transfer, _ code: CURLcode) {
    guard let port = transfer.localPort else { return }
    if code == CURLE_OK {
      answers += 1
      lastAnswers[port] = answers
    } else if code == CURLE_OPERATION_TIMEDOUT,
      lastAnswers[port, default: 0] <= transfer.answersBefore, let socket = transfer.socket
    {
      shutdown(socket, Int32(SHUT_RDWR))
    }
  }

  // MARK: - What libcurl waits for

  private func setTimer(_ milliseconds: Int) {
    guard milliseconds >= 0 else {
      unsafe uv_timer_stop(timer)
      return
    }
    unsafe uv_timer_start(
      timer,
      { handle in
        guard let handle = unsafe handle else { return }
        unsafe TransferLoop.of(handle.pointee.data).act(on: ccurl_timeout_socket, 0)
      }, UInt64(milliseconds), 0)
  }

  private func watch(_ socket: curl_socket_t, _ what: Int32) {
    guard what != CURL_POLL_REMOVE else {
      watches.removeValue(forKey: socket)?.close()
      return
    }
    if watches[socket] == nil {
      watches[socket] = unsafe SocketWatch(socket, on: loop) { [unowned self] events in
        act(on: socket, events)
      }
    }
    watches[socket]?.wait(for: what)
  }
}
