public import HTTPProtocol

internal import Formats
internal import Platform
internal import Transport

/// Opens WebSockets; all of one client share one thread, which ends with the last of them and the client.
public final class WebSocketClient: Sendable {
  private let options: WebSocketOptions
  let loop: EventLoop

  /// A client with a thread of its own.
  ///
  /// - Throws: `.outOfResources`.
  public init(_ options: WebSocketOptions = WebSocketOptions()) throws(WebSocketError) {
    self.options = options
    do throws(SystemError) {
      loop = try EventLoop(named: "awd-websocket")
      try loop.start()
    } catch {
      throw WebSocketError(.outOfResources, "the system has no room for an event loop: \(error)")
    }
  }

  deinit { loop.execute { [loop] in loop.end() } }

  /// Opens a WebSocket.
  ///
  /// - Parameters:
  ///   - fields: further fields of the request, such as `Authorization`.
  ///   - subprotocols: the subprotocols that are offered, the best first.
  /// - Returns: the WebSocket, after the server accepted the handshake.
  /// - Throws: ``WebSocketError``; `.refused` with the status of another response, `.cancelled` if the task is
  ///   cancelled meanwhile.
  public nonisolated(nonsending) func connect(
    to url: WebSocketURL, fields: HeaderFields = HeaderFields(), subprotocols: [String] = []
  ) async throws(WebSocketError) -> WebSocket {
    let state = WebSocketState(options)
    let link = WebSocketLink(url, fields, subprotocols, options, state, on: loop)
    loop.execute { link.connect() }
    let subprotocol: String?
    do throws(WebSocketError) {
      subprotocol = try await state.opened()
    } catch {
      if error == .cancelled { loop.execute { link.abort(.cancelled) } }
      throw error
    }
    return WebSocket(url, subprotocol, self, link, state)
  }
}

/// The times and limits of a ``WebSocket``.
public struct WebSocketOptions: Sendable {
  /// The time for name resolution, connecting, TLS and the handshake together.
  public var connectTimeout: Duration = .seconds(10)
  /// The most bytes of messages that may wait to be read; with more, the socket isn't read until they are.
  public var receiveLimit = 256 << 10
  /// The number of bytes that may wait to be sent before ``WebSocket/send(_:)`` waits.
  public var sendLimit = 256 << 10
  /// A PEM file with root certificates of servers, or nil for the system's.
  public var certificateAuthorities: String?

  /// The defaults.
  public init() {}

  /// The machine's own limits, but with longer messages.
  static var limits: WebSocketMachine.Limits {
    var limits = WebSocketMachine.Limits()
    limits.maximumMessage = 2 << 20
    return limits
  }
}

/// The reason for which there is no WebSocket, or no longer one. Its text has neither a query, a field nor a message.
public typealias WebSocketError = ClientError<WebSocketFailure>

/// The kinds of failure of a WebSocket.
public enum WebSocketFailure: Sendable, Hashable {
  /// The host's name has no address.
  case unknownHost
  /// Nobody listens there.
  case notConnected
  /// TLS failed: as a rule the server's certificate isn't trusted.
  case tls
  /// The server responded to the handshake with another status than 101.
  case refused(Status)
  /// The peer does not speak the WebSocket protocol.
  case malformed
  /// A message is longer than it may be.
  case tooLarge
  /// The time limit was exceeded, or the server fell silent.
  case timedOut
  /// The connection ended without a close frame.
  case disconnected
  /// The WebSocket was closed before.
  case closed
  /// The task was cancelled.
  case cancelled
  /// The system lacks memory, descriptors or threads.
  case outOfResources
}

extension WebSocketError {
  package static var cancelled: WebSocketError {
    WebSocketError(.cancelled, "the task was cancelled")
  }
  package static var closed: WebSocketError { WebSocketError(.closed, "the WebSocket is closed") }
  package static var disconnected: WebSocketError {
    WebSocketError(.disconnected, "the connection ended without a close frame")
  }
}

/// The way in which a WebSocket ended.
public enum WebSocketEnd: Sendable, Hashable {
  /// The server sent a close frame: its code, 1005 if it gave none, and its reason.
  case closed(UInt16, reason: String)
  /// The connection failed.
  case failed(WebSocketError)
}

/// The address of a WebSocket (RFC 6455 section 3), without user information and fragment.
public struct WebSocketURL: Sendable, Hashable {
  /// True if TLS is spoken: `wss`.
  public let isSecure: Bool
  /// A name or an address; an IPv6 address stands without brackets.
  public let host: String
  /// The port; 80 or 443 where the text has none.
  public let port: UInt16
  /// The path, which begins with a slash.
  public let path: String
  /// The part behind the question mark, or nil without one.
  public var query: String? { didSet { if !Self.isPrintable(query ?? "") { query = oldValue } } }

  /// The longest text accepted, in bytes.
  private static let longest = 4096

  /// Reads an address.
  ///
  /// - Parameter text: `ws://HOST[:PORT][PATH][?QUERY]` or the same with `wss`, printable ASCII.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.longest, let url = WebURL(text, schemes: ["ws", "wss"]) else {
      return nil
    }
    isSecure = url.scheme == "wss"
    host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
    port = url.port ?? WebURL.usualPort(isSecure: isSecure)
    path = url.path
    query = url.query
  }

  /// The value of `Host`: the port is left out where it is the scheme's.
  package var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == WebURL.usualPort(isSecure: isSecure) ? name : "\(name):\(port)"
  }

  /// The target of the request line: path and query.
  var target: String { query.map { "\(path)?\($0)" } ?? path }

  private static func isPrintable(_ text: String) -> Bool {
    text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }
}

extension WebSocketURL: CustomStringConvertible {
  /// The whole address as text.
  public var description: String { "\(isSecure ? "wss" : "ws")://\(authority)\(target)" }
}
