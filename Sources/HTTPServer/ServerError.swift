package import Formats
package import Cryptography
internal import Glibc
package import Platform

/// The reason for which a server can't run.
package enum ServerError: Error, Equatable, CustomStringConvertible {
  /// The address can't be listened on; the number is the system's `errno`.
  case cannotListen(Endpoint, Int32)
  /// An event loop or its thread can't be set up.
  case noEventLoop(SystemError)
  /// The credentials can't be used, or there are none for an endpoint that speaks TLS.
  case noCredentials(TLSError?)

  /// The fault and its remedy, for an operator.
  package var description: String {
    switch self {
    case .cannotListen(let endpoint, EADDRINUSE):
      "\(endpoint) is in use: another program listens there; stop it or choose another address"
    case .cannotListen(let endpoint, EACCES):
      "\(endpoint): permission denied; ports below 1024 need the right to bind them"
    case .cannotListen(let endpoint, let code):
      "cannot listen on \(endpoint): \(unsafe String(cString: strerror(code)))"
    case .noCredentials(let error?): "TLS: \(error)"
    case .noCredentials(nil): "TLS needs a certificate and its key"
    case .noEventLoop(let error): "cannot set up an event loop: \(error)"
    }
  }
}
