package import Formats

/// An address that the server listens at, with or without TLS.
package struct ListenAddress: Sendable, Hashable {
  /// The longest path of a socket in bytes: `sun_path` without its terminator.
  static let longestPath = 107

  /// The socket's address; the path of a Unix-domain socket has at most 107 bytes.
  package let endpoint: Endpoint
  /// True if TLS is spoken (`https://`).
  package let isSecure: Bool

  package init(_ endpoint: Endpoint, isSecure: Bool = false) {
    self.endpoint = endpoint
    self.isSecure = isSecure
  }

  /// True if only this machine can reach the address: a loopback address or a Unix-domain socket.
  package var isLocal: Bool {
    switch endpoint {
    case .tcp(let address, _): address.isLoopback
    case .unix: true
    }
  }

  /// Parses an address.
  ///
  /// - Parameters:
  ///   - text: `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/awd.sock`, with or without `https://` or `http://` in front.
  ///     Anything else gives nil.
  ///   - isSecure: whether TLS is spoken if the text doesn't say.
  ///   - folder: the folder of a relative socket path, with a slash at its end, or empty.
  package init?(_ text: String, isSecure: Bool = false, folder: String = "") {
    var rest = text[...]
    var isSecure = isSecure
    for (scheme, secure) in [("https://", true), ("http://", false)] where text.hasPrefix(scheme) {
      rest = text.dropFirst(scheme.count)
      isSecure = secure
    }
    let endpoint =
      rest.hasPrefix("unix:")
      ? Self.unix(String(rest.dropFirst(5)), folder: folder) : Self.tcp(rest)
    guard let endpoint else { return nil }
    self.init(endpoint, isSecure: isSecure)
  }

  private static func unix(_ path: String, folder: String) -> Endpoint? {
    let whole = (path.hasPrefix("/") ? path : folder + path).normalizedPath
    guard !path.isEmpty, !path.hasSuffix("/"), !path.utf8.contains(0),
      whole.utf8.count <= longestPath
    else { return nil }
    return .unix(path: whole)
  }

  private static func tcp(_ text: Substring) -> Endpoint? {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let number = Int(digits: text[text.index(after: colon)...])
    guard let port = number.flatMap({ UInt16(exactly: $0) }) else { return nil }
    var host = text[..<colon]
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 2
    if isBracketed { host = host.dropFirst().dropLast() }
    guard isBracketed == host.contains(":"), let address = IPAddress(String(host)) else {
      return nil
    }
    return .tcp(address, port: port)
  }
}

extension ListenAddress: CustomStringConvertible {
  /// The address as a URL: `http://127.0.0.1:8080`, `https://[::1]:8443`, `http://unix:/run/awd.sock`.
  package var description: String { "\(isSecure ? "https" : "http")://\(endpoint)" }
}
