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

  /// Ends all transfers and the loop, from any thread. The driver gets no further requests.
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
  /// - Parameter completion: called once, on the loop's thread.
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
      evaluateConnection(of: transfer, code)
      end(transfer.id, transfer.result(code))
    }
  }

  /// Cuts the connection of a request that timed out if no response at all came on it meanwhile.
  ///
  /// libcurl ends the stream only, and would send the next requests into the same silence.
  private func evaluateConnection(of transfer: Transfer, _ code: CURLcode) {
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

/// One request of libcurl and the response as far as it has come. Lives on the loop's thread.
@safe final class Transfer {
  let id: UInt64
  /// The number of responses that its driver had had when it was begun.
  let responsesBefore: UInt64
  let completion: @Sendable (Result<IncomingResponse, HTTPClientError>) -> Void
  let handle: UnsafeMutableRawPointer
  private var lines: UnsafeMutablePointer<curl_slist>?
  private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var assembler: ResponseAssembler
  /// True if an address was refused, and no other was reached.
  private var isForbidden = false

  /// Prepares a transfer.
  ///
  /// - Throws: `.invalidRequest`, `.outOfResources`.
  init(
    _ id: UInt64, _ request: OutgoingRequest, _ options: HTTPClientOptions,
    responsesBefore: UInt64,
    completion: @escaping @Sendable (Result<IncomingResponse, HTTPClientError>) -> Void
  ) throws(HTTPClientError) {
    guard let handle = unsafe curl_easy_init() else {
      throw HTTPClientError(.outOfResources, "libcurl has no memory for a transfer")
    }
    self.id = id
    self.responsesBefore = responsesBefore
    self.completion = completion
    unsafe self.handle = unsafe handle
    assembler = ResponseAssembler(options)
    unsafe words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    try configure(options, timeout: request.timeout ?? options.timeout)
    try setTarget(request)
    try setFields(request)
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    unsafe curl_slist_free_all(lines)
    unsafe words.deallocate()
  }

  /// The transfer that a handle belongs to.
  static func of(_ handle: UnsafeMutableRawPointer?) -> Transfer? {
    var data: UnsafeMutableRawPointer?
    guard unsafe ccurl_get_private(handle, &data) == CURLE_OK, let data = unsafe data else {
      return nil
    }
    return unsafe Unmanaged<Transfer>.fromOpaque(data).takeUnretainedValue()
  }

  /// The local port of the connection that it goes or went over, if it has had one.
  var localPort: Int? {
    var port = 0
    guard unsafe ccurl_get_long(handle, CURLINFO_LOCAL_PORT, &port) == CURLE_OK else { return nil }
    return port > 0 ? port : nil
  }

  /// The socket of the connection that it went over, if no other transfer uses that.
  var socket: curl_socket_t? {
    var socket = ccurl_no_socket
    guard unsafe ccurl_get_socket(handle, &socket) == CURLE_OK else { return nil }
    return socket == ccurl_no_socket ? nil : socket
  }

  /// The outcome, once libcurl says that the transfer is over.
  func result(_ code: CURLcode) -> Result<IncomingResponse, HTTPClientError> {
    if let failure = assembler.failure { return .failure(failure) }
    guard code == CURLE_OK || assembler.isCut else {
      if isForbidden, code == CURLE_COULDNT_CONNECT { return .failure(.forbiddenAddress) }
      return .failure(HTTPClientError(code, detail: unsafe String(cString: words)))
    }
    return Result { () throws(HTTPClientError) in try assembler.finish() }
  }

  // MARK: - Preparation

  private func configure(_ options: HTTPClientOptions, timeout: Duration) throws(HTTPClientError) {
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe ccurl_set_pointer(handle, CURLOPT_PRIVATE, this)
    unsafe ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, words)
    unsafe ccurl_set_pointer(handle, CURLOPT_HEADERDATA, this)
    unsafe ccurl_set_writer(handle, CURLOPT_HEADERFUNCTION) { start, size, count, this in
      unsafe Transfer.receive(start, size * count, this) { transfer, bytes in
        unsafe transfer.assembler.parseLine(Array(bytes))
      }
    }
    unsafe ccurl_set_pointer(handle, CURLOPT_WRITEDATA, this)
    unsafe ccurl_set_writer(handle, CURLOPT_WRITEFUNCTION) { start, size, count, this in
      unsafe Transfer.receive(start, size * count, this) { transfer, bytes in
        unsafe transfer.assembler.appendBody(Span(_unsafeBytes: bytes))
      }
    }
    if options.reach == .publicAddresses {
      unsafe ccurl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, this)
      unsafe ccurl_set_socket_opener(handle) { this, _, address in
        guard let socket = unsafe PublicSocket.open(to: address) else {
          unsafe Unmanaged<Transfer>.object(of: this).isForbidden = true
          return ccurl_no_socket
        }
        return socket
      }
    }
    unsafe ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    try setString(CURLOPT_PROTOCOLS_STR, "http,https")
    try setString(CURLOPT_PROXY, "")
    unsafe ccurl_set_long(handle, CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    unsafe ccurl_set_long(handle, CURLOPT_HTTP_VERSION, ccurl_http_2_over_tls)
    unsafe ccurl_set_long(handle, CURLOPT_SSLVERSION, ccurl_tls_1_2)
    unsafe ccurl_set_long(
      handle, CURLOPT_CONNECTTIMEOUT_MS, options.connectTimeout.atLeastOneMillisecond)
    unsafe ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, timeout.atLeastOneMillisecond)
    if let file = options.certificateAuthorities {
      try setString(CURLOPT_CAINFO, file)
      // Else the system's folder would be trusted as well.
      unsafe ccurl_set_string(handle, CURLOPT_CAPATH, nil)
    }
    if let identity = options.clientCertificate {
      try setString(CURLOPT_SSLCERT, identity.certificate)
      try setString(CURLOPT_SSLKEY, identity.key)
    }
  }

  private func setTarget(_ request: OutgoingRequest) throws(HTTPClientError) {
    let start = request.url.prefix(8).lowercased()
    // libcurl would guess a scheme.
    guard start.hasPrefix("http://") || start == "https://" else {
      throw HTTPClientError(.invalidRequest, "the URL's scheme is neither http nor https")
    }
    try setString(CURLOPT_URL, request.url)
    // With TLS the handshake shows whether a connection can be shared. Over plain HTTP only the first response would show it,
    // and one slow server would hold up all other requests.
    unsafe ccurl_set_long(handle, CURLOPT_PIPEWAIT, start == "https://" ? 1 : 0)
    guard request.method.isToken else {
      throw HTTPClientError(.invalidRequest, "the method is no token")
    }
    if let body = request.body ?? (request.method.expectsContent ? [] : nil) {
      unsafe ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, body.count)
      // Without an address libcurl would read the body from the standard input.
      let result = unsafe (body + [0]).withUnsafeBytes { bytes in
        unsafe ccurl_set_pointer(
          handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      }
      guard result == CURLE_OK else { throw HTTPClientError(result, detail: "") }
    }
    if request.method == .head {
      unsafe ccurl_set_long(handle, CURLOPT_NOBODY, 1)
    } else {
      try setString(CURLOPT_CUSTOMREQUEST, request.method.name)
    }
  }

  private func setFields(_ request: OutgoingRequest) throws(HTTPClientError) {
    // libcurl would add these on its own to a request with a body.
    var all = ["Expect:"]
    if request.fields.first(.contentType) == nil { all.append("Content-Type:") }
    for (name, value) in request.fields.pairs {
      // libcurl removes a field if nothing follows its name; with `;` it sends it empty.
      all.append(value.allSatisfy { $0 == " " } ? "\(name);" : "\(name): \(value)")
    }
    for line in all {
      guard let longer = unsafe curl_slist_append(lines, line) else {
        throw HTTPClientError(.outOfResources, "libcurl has no memory for a field")
      }
      unsafe lines = unsafe longer
    }
    unsafe ccurl_set_list(handle, CURLOPT_HTTPHEADER, lines)
  }

  private func setString(_ option: CURLoption, _ value: String) throws(HTTPClientError) {
    guard !value.utf8.contains(0) else {
      throw HTTPClientError(.invalidRequest, "a NUL in the URL or a path")
    }
    let result = unsafe ccurl_set_string(handle, option, value)
    guard result == CURLE_OK else { throw HTTPClientError(result, detail: "") }
  }

  // MARK: - Responses

  /// Lends bytes that libcurl read to the transfer.
  ///
  /// - Returns: the number of bytes accepted: all, or 0, which ends the transfer.
  private static func receive(
    _ start: UnsafeMutablePointer<CChar>?, _ count: Int, _ transfer: UnsafeMutableRawPointer?,
    _ body: (Transfer, UnsafeRawBufferPointer) -> Bool
  ) -> Int {
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    return unsafe body(Unmanaged.object(of: transfer), bytes) ? count : 0
  }
}

extension Duration {
  /// The duration in milliseconds for libcurl, to which 0 means its own default.
  fileprivate var atLeastOneMillisecond: Int { Int(min(max(milliseconds, 1), Int64(Int32.max))) }
}

extension Method {
  /// True if a request without a body says so by `Content-Length: 0` (RFC 9110 section 8.6).
  fileprivate var expectsContent: Bool { self == .post || self == .put || self == .patch }
}
