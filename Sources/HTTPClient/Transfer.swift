internal import CCurl
internal import HTTPProtocol
internal import Platform
internal import Transport

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
    (self.id, self.responsesBefore, self.completion) = (id, responsesBefore, completion)
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
    guard code == CURLE_OK else {
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
      unsafe Transfer.take(start, size * count, this) { transfer, bytes in
        unsafe transfer.assembler.takeLine(Array(bytes))
      }
    }
    unsafe ccurl_set_pointer(handle, CURLOPT_WRITEDATA, this)
    unsafe ccurl_set_writer(handle, CURLOPT_WRITEFUNCTION) { start, size, count, this in
      unsafe Transfer.take(start, size * count, this) { transfer, bytes in
        unsafe transfer.assembler.takeBody(Span(_unsafeBytes: bytes))
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
    // TLS tells at once whether a connection can be shared. Over plain HTTP the first response would have to be awaited,
    // and one server that takes long would hold up all other requests.
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
      // For libcurl a name with nothing behind it takes the field away; `;` sends it empty.
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
  /// - Returns: the number of bytes taken: all, or 0, which ends the transfer.
  private static func take(
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
