/// The reason for which TLS failed on a connection.
package enum TLSFailure: Error, Sendable, Equatable {
  /// The peer of a server sent a request in plain HTTP; it can be sent a response as it is, as there is no alert for
  /// that.
  case plainRequest
  /// The server's certificate is not trusted, in OpenSSL's words.
  case untrusted(String)
  /// The peer broke the protocol, or shares no version or cipher.
  case protocolViolated
  /// The file with trusted certificates can't be read.
  case noAuthorities
  /// OpenSSL has no memory.
  case outOfMemory
}
