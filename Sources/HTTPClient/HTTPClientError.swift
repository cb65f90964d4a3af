internal import CCurl
public import HTTPProtocol

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
  /// It took longer than it may.
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
  /// - Parameters:
  ///   - result: libcurl's code.
  ///   - detail: libcurl's words for this case, used only where they can quote nothing but host,
  ///     port and certificate.
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
