public import HTTPProtocol

internal import CCurl
internal import Synchronization

/// Sends requests to other servers, over HTTP/2 where they speak it (by ALPN), else over HTTP/1.1.
///
/// Many requests may be under way at once; those to one host share connections. Redirects are not
/// followed, cookies not kept, content codings not undone, and proxies of the environment not used.
public final class WebClient: Sendable {
  private let driver: TransferDriver
  private let lastID = Atomic<UInt64>(0)

  /// A client with a thread and connections of its own, which end with it.
  ///
  /// - Throws: `.outOfResources`.
  public init(_ options: HTTPClientOptions = HTTPClientOptions()) throws(HTTPClientError) {
    driver = try TransferDriver(options)
  }

  deinit { driver.stop() }

  /// Sends a request and waits for the whole response.
  ///
  /// - Returns: the response, whatever its status.
  /// - Throws: ``HTTPClientError``; `.cancelled` if the task is cancelled meanwhile, which ends the
  ///   exchange. Except for `.invalidRequest`, `.unknownHost` and `.notConnected`, the server may
  ///   have acted on the request.
  public nonisolated(nonsending) func send(
    _ request: OutgoingRequest
  ) async throws(HTTPClientError) -> IncomingResponse {
    let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        driver.begin(id, request) { continuation.resume(returning: $0) }
        // If the handler has run before, it found nothing to cancel.
        if Task.isCancelled { driver.cancel(id) }
      }
    } onCancel: {
      driver.cancel(id)
    }
    return try result.get()
  }
}

/// The limits of an ``WebClient``, its times, and the certificates that it trusts and shows.
public struct HTTPClientOptions: Sendable {
  /// The addresses that a client connects to.
  public enum Reach: Sendable {
    /// Any.
    case anyAddress
    /// Addresses of other hosts on the public Internet, for URLs that strangers give. An address is looked at when the socket
    /// is made that connects to it, whatever a name resolved to before.
    case publicAddresses
  }

  /// The addresses that requests may go to.
  public var reach = Reach.anyAddress
  /// The time for name resolution, connecting and the TLS handshake together.
  public var connectTimeout: Duration = .seconds(10)
  /// The time for an exchange, from the call to the last byte of the response.
  public var timeout: Duration = .seconds(30)
  /// The longest body of a response, in bytes.
  public var bodyLimit = 1 << 20
  /// Whether a longer body is cut, and the connection ended, instead of the response being refused: for those who need its status.
  public var cutsLongBodies = false
  /// The longest head of a response, in bytes: status lines and fields, with those of interim responses and trailers.
  public var headLimit = 64 << 10
  /// The largest number of field lines of a response, counted like ``headLimit``.
  public var fieldLimit = 256
  /// The largest number of connections to one host and port; requests beyond wait.
  public var connectionsPerHost = 8
  /// The largest number of requests at once on one HTTP/2 connection, if the server allows as many.
  public var streamsPerConnection = 100
  /// A PEM file with root certificates of servers, or nil for the system's.
  public var certificateAuthorities: String?
  /// The certificate that servers are shown which ask for one, and its key: paths of PEM files. The first holds those
  /// between the certificate and a root too, and the key has no password.
  public var clientCertificate: (certificate: String, key: String)?

  /// The defaults.
  public init() {}
}

/// The reason for which there is no response. Its text has neither a field nor a body of the request or the response.
public typealias HTTPClientError = ClientError<HTTPFailure>

/// The kinds of failure of an exchange.
public enum HTTPFailure: Sendable, Hashable {
  /// The request can't be sent: its URL is no `http` or `https` URL, or holds a password; or its
  /// method is no token.
  case invalidRequest
  /// The host's name has no address.
  case unknownHost
  /// The host has only addresses that the client doesn't connect to.
  case forbiddenAddress
  /// Nobody listens there.
  case notConnected
  /// TLS failed: as a rule the server's certificate isn't trusted, or a file can't be read.
  case tls
  /// The time limit was exceeded.
  case timedOut
  /// The response is longer than it may be.
  case tooLarge
  /// The response is not HTTP.
  case malformedResponse
  /// The connection or the stream ended before the response did.
  case disconnected
  /// The task was cancelled.
  case cancelled
  /// The system lacks memory, descriptors or threads.
  case outOfResources
}

extension HTTPClientError {
  static var forbiddenAddress: HTTPClientError {
    HTTPClientError(.forbiddenAddress, "the host is not on the public Internet")
  }
  static var cancelled: HTTPClientError { HTTPClientError(.cancelled, "the request was cancelled") }

  /// An error of libcurl.
  ///
  /// - Parameter detail: libcurl's words for this case, used only where they can quote nothing but host,
  ///   port and certificate.
  init(_ result: CURLcode, detail: String) {
    let code = HTTPFailure(result)
    let general = unsafe String(cString: curl_easy_strerror(result))
    let isDetailed = [.unknownHost, .notConnected, .tls].contains(code) && !detail.isEmpty
    self.init(code, isDetailed ? detail : general)
  }
}

extension HTTPFailure {
  fileprivate init(_ result: CURLcode) {
    switch result {
    case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED: self = .invalidRequest
    case CURLE_COULDNT_RESOLVE_HOST: self = .unknownHost
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: self = .notConnected
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE,
      CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT:
      self = .tls
    case CURLE_OPERATION_TIMEDOUT: self = .timedOut
    // The scheme is known to be supported: the protocol of a status line is meant.
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING:
      self = .malformedResponse
    case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: self = .outOfResources
    default: self = .disconnected
    }
  }
}

/// A request to another server.
public struct OutgoingRequest: Sendable {
  /// The method.
  public var method: Method
  /// An absolute URL with the scheme `http` or `https`, without user name and password.
  public var url: String
  /// The header fields. `Content-Length`, `Transfer-Encoding` and `Connection` are the client's and
  /// don't belong here.
  public var fields: HeaderFields
  /// The body, or nil for none.
  public var body: [UInt8]?
  /// The time for the exchange, from the call to the last byte, or nil for that of the client's options.
  public var timeout: Duration?

  /// A request.
  ///
  /// - Parameters:
  ///   - url: an absolute URL; ``WebClient/send(_:)`` refuses anything else.
  ///   - body: the body, or nil for none.
  ///   - timeout: the time for the exchange, or nil for that of the client's options.
  public init(
    _ method: Method = .get, _ url: String, fields: HeaderFields = HeaderFields(),
    body: [UInt8]? = nil, timeout: Duration? = nil
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.timeout = timeout
  }

  /// Makes a POST request with a body in JSON.
  ///
  /// - Parameter url: an absolute URL.
  public init(_ url: String, json body: [UInt8]) {
    self.init(.post, url, body: body)
    fields.append(.contentType, "application/json")
  }
}

/// The whole response of another server.
public struct IncomingResponse: Sendable {
  /// The version of HTTP that the response came in.
  public enum Version: Sendable {
    /// HTTP/1.0 or HTTP/1.1.
    case http1
    /// HTTP/2.
    case http2
  }

  /// The status code, from 200 to 599.
  public let status: Status
  /// The version of HTTP.
  public let version: Version
  /// The header fields.
  public let fields: ResponseFields
  /// The body as it was sent: a content coding is not undone.
  public let body: [UInt8]
}

/// The header fields of a response, in order, without those of interim responses and trailers.
public struct ResponseFields: Sendable {
  /// The names as they came and the values without surrounding blanks; malformed UTF-8 is replaced.
  public internal(set) var pairs: [(name: String, value: String)] = []

  /// The value of the first field with a name.
  ///
  /// - Parameter name: the name, compared without regard to case.
  /// - Returns: the value, or nil without such a field.
  public func first(_ name: FieldName) -> String? {
    let wanted = "\(name.text)".lowercased()
    return pairs.first { $0.name.lowercased() == wanted }?.value
  }

  /// The values of all fields with a name, joined as RFC 9110 section 5.3 allows.
  ///
  /// - Parameter name: the name, compared without regard to case.
  /// - Returns: the values joined by `", "`, or nil without such a field.
  public func value(_ name: FieldName) -> String? {
    let wanted = "\(name.text)".lowercased()
    let values = pairs.filter { $0.name.lowercased() == wanted }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}
