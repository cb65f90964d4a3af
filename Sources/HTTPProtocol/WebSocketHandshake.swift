internal import FoundationEssentials

/// The server's side of the opening handshake (RFC 6455 section 4.2), without extensions.
public enum WebSocketHandshake {
  /// The verdict on a request.
  public enum Verdict: Sendable {
    /// The request is in order; `key` is the value of `Sec-WebSocket-Key`.
    case accept(key: [UInt8])
    /// The request is refused with a response.
    case refuse(Response)
  }

  /// Checks a request for a WebSocket (RFC 6455 sections 4.2.1 and 4.4).
  ///
  /// - Parameter head: the request.
  /// - Returns: the key; or 426 where the client should ask for `websocket` or for version 13;
  ///   or 400 for what is malformed.
  public static func check(_ head: RequestHead) -> Verdict {
    guard head.method == .get, head.version == .http11, head.framing == .none else {
      return .refuse(Response(.badRequest))
    }
    guard head.contains(.upgrade, token: "websocket"),
      head.contains(.connection, token: "upgrade")
    else { return .refuse(upgradeRequired) }
    guard head.only(.secWebSocketVersion)?.elementsEqual("13".utf8) == true else {
      return .refuse(upgradeRequired)
    }
    guard let key = head.only(.secWebSocketKey), isKey(key) else {
      return .refuse(Response(.badRequest))
    }
    return .accept(key: Array(key))
  }

  private static var upgradeRequired: Response {
    var response = Response(.upgradeRequired)
    response.fields.append(.upgrade, "websocket")
    response.fields.append(.secWebSocketVersion, "13")
    return response
  }

  /// Returns whether a value is 16 bytes in base64.
  private static func isKey(_ value: ArraySlice<UInt8>) -> Bool {
    value.count == 24 && value.suffix(2).elementsEqual("==".utf8)
      && value.dropLast(2).allSatisfy(ByteSet.base64.contains)
  }

  /// The value of `Sec-WebSocket-Accept` (RFC 6455 section 4.2.2).
  ///
  /// - Parameters:
  ///   - key: the value of `Sec-WebSocket-Key`.
  ///   - sha1: the hash of some bytes, 20 bytes; from a library, as this module has none.
  public static func accept(key: [UInt8], sha1: ([UInt8]) -> [UInt8]) -> String {
    base64(sha1(key + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)))
  }

  /// The response that accepts; `Connection: Upgrade` comes with its serialization.
  ///
  /// - Parameters:
  ///   - key: the value of `Sec-WebSocket-Key`.
  ///   - subprotocol: the chosen one of those that the client offers, or nil.
  ///   - sha1: the hash of some bytes, 20 bytes.
  public static func response(
    key: [UInt8], subprotocol: String? = nil, sha1: ([UInt8]) -> [UInt8]
  ) -> Response {
    var response = Response(.switchingProtocols)
    response.fields.append(.upgrade, "websocket")
    response.fields.append(.secWebSocketAccept, accept(key: key, sha1: sha1))
    if let subprotocol { response.fields.append(.secWebSocketProtocol, subprotocol) }
    return response
  }

  /// Base64 with padding (RFC 4648 section 4).
  static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
