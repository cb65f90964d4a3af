internal import CCurl
internal import Glibc
internal import HTTPProtocol
internal import Platform
internal import Transport

/// Drives libcurl's multi interface on an event loop of its own.
///
/// It is not one of a server's loops, so that a handshake or a slow trust store stalls only other requests of the same
/// client.
@safe
final class TransferDriver: @unchecked Sendable {
  // Safe to share: all but constants is touched on the loop's thread only, once that has started.
  private let options: HTTPClientOptions
  private let loop: EventLoop
  private let multi: UnsafeMutableRawPointer
  private var timer: LoopTimer?
  private var transfers: [UInt64: Transfer] = [:]
  private var watches: [curl_socket_t: SocketWatch] = [:]
  /// The number of whole responses so far.
  private var responses: UInt64 = 0
  /// The number of the last response on a connection from a local port, counted from 1. The number of an older connection
  /// from the same port is too old to matter.
  private var lastResponses: [Int: UInt64] = [:]

  /// Starts libcurl, once a process.
  private static let isLibraryReady = curl_global_init(ccurl_global_all) == CURLE_OK

  /// Starts a loop with its thread.
  ///
  /// - Throws: `.outOfResources`.
  init(_ options: HTTPClientOptions) throws(HTTPClientError) {
    guard Self.isLibraryReady, let multi = unsafe curl_multi_init() else {
      throw HTTPClientError(.outOfResources, "libcurl can't be started")
    }
    self.options = options
    unsafe self.multi = unsafe multi
    do throws(SystemError) { loop = try EventLoop(named: "awd-client") } catch {
      unsafe curl_multi_cleanup(multi)
      throw HTTPClientError(.outOfResources, "the system has no room for an event loop")
    }
    configure()
    loop.execute { [self] in
      timer = LoopTimer(on: loop) { [unowned self] in act(on: ccurl_timeout_socket, 0) }
    }
    do throws(SystemError) { try loop.start() } catch {
      unsafe curl_multi_cleanup(multi)
      throw HTTPClientError(.outOfResources, "the system has no room for a thread")
    }
  }

  private func configure() {
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe ccurl_multi_set_socket_callback(multi) { _, socket, what, driver, _ in
      unsafe TransferDriver.of(driver).watch(socket, what)
      return 0
    }
    unsafe ccurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, this)
    unsafe ccurl_multi_set_timer_callback(multi) { _, milliseconds, driver in
      unsafe TransferDriver.of(driver).setTimer(milliseconds)
      return 0
    }
    unsafe ccurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, this)
    unsafe ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX)
    unsafe ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.connectionsPerHost)
    unsafe ccurl_multi_set_long(
      multi, CURLMOPT_MAX_CONCURRENT_STREAMS, options.streamsPerConnection)
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> TransferDriver {
    // Every callback is registered with its driver, which closes libcurl before it is released.
    unsafe Unmanaged.object(of: data)
  }

  /// Ends all transfers and the loop, from any thread. Nothing is asked of the driver afterwards.
  func stop() {
    loop.execute { [self] in
      for id in transfers.keys { end(id, .failure(.cancelled)) }
      // Closes the connections, and with them the watches.
      unsafe curl_multi_cleanup(multi)
      for socket in watches.keys { watch(socket, CURL_POLL_REMOVE) }
      timer?.close()
      timer = nil
      loop.end()
    }
  }

  // MARK: - Transfers

  /// Begins a transfer, from any thread.
  ///
  /// - Parameters:
  ///   - id: its number.
  ///   - request: the request.
  ///   - completion: called once, on the loop's thread.
  func begin(
    _ id: UInt64, _ request: OutgoingRequest,
    _ completion: @escaping @Sendable (Result<IncomingResponse, HTTPClientError>) -> Void
  ) {
    loop.execute { [self] in
      do throws(HTTPClientError) {
        let transfer = try Transfer(
          id, request, options, responsesBefore: responses, completion: completion)
        transfers[id] = transfer
        guard unsafe curl_multi_add_handle(multi, transfer.handle) == CURLM_OK else {
          transfers[id] = nil
          throw HTTPClientError(.outOfResources, "libcurl can't begin the transfer")
        }
      } catch { completion(.failure(error)) }
    }
  }

  /// Ends a transfer, if it is still under way, from any thread.
  ///
  /// - Parameter id: its number.
  func cancel(_ id: UInt64) { loop.execute { [self] in end(id, .failure(.cancelled)) } }

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

  /// Cuts the connection of a request that timed out if no response at all came on it meanwhile.
  ///
  /// libcurl ends the stream only, and would send the next requests into the same silence.
  private func judgeConnection(of transfer: Transfer, _ code: CURLcode) {
    guard let port = transfer.localPort else { return }
    if code == CURLE_OK {
      responses += 1
      lastResponses[port] = responses
    } else if code == CURLE_OPERATION_TIMEDOUT,
      lastResponses[port, default: 0] <= transfer.responsesBefore, let socket = transfer.socket
    {
      shutdown(socket, Int32(SHUT_RDWR))
    }
  }

  // MARK: - libcurl's sockets and timer

  private func setTimer(_ milliseconds: Int) {
    if milliseconds < 0 { timer?.stop() } else { timer?.start(after: .milliseconds(milliseconds)) }
  }

  private func watch(_ socket: curl_socket_t, _ what: Int32) {
    guard what != CURL_POLL_REMOVE else {
      watches.removeValue(forKey: socket)?.close()
      return
    }
    if watches[socket] == nil {
      watches[socket] = SocketWatch(socket, on: loop) { [unowned self] events in
        act(on: socket, events.curlBits)
      }
    }
    var events: SocketWatch.Events = []
    if what & CURL_POLL_IN != 0 { events.insert(.readable) }
    if what & CURL_POLL_OUT != 0 { events.insert(.writable) }
    watches[socket]?.wait(for: events)
  }
}

extension SocketWatch.Events {
  fileprivate var curlBits: Int32 {
    var bits: Int32 = 0
    if contains(.readable) { bits |= CURL_CSELECT_IN }
    if contains(.writable) { bits |= CURL_CSELECT_OUT }
    if contains(.failed) { bits |= CURL_CSELECT_ERR }
    return bits
  }
}
