/// The opening handshake of WebSocket, both sides (RFC 6455 section 4), without extensions.
public enum WebSocketHandshake {
  /// What the server makes of a request.
  public enum Verdict: Sendable {
    /// It is in order; `key` is the value of `Sec-WebSocket-Key`.
    case accept(key: [UInt8])
    /// The answer that refuses it.
    case refuse(Response)
  }

  // MARK: Server

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
    var keys: [ArraySlice<UInt8>] = []
    head.forEachValue(.secWebSocketKey) { keys.append($0) }
    var versions: [ArraySlice<UInt8>] = []
    head.forEachValue(.secWebSocketVersion) { versions.append($0) }
    guard versions.count == 1, versions[0].elementsEqual("13".utf8) else {
      return .refuse(upgradeRequired)
    }
    guard keys.count == 1, isKey(keys[0]) else { return .refuse(Response(.badRequest)) }
    return .accept(key: Array(keys[0]))
  }

  private static var upgradeRequired: Response {
    var response = Response(.upgradeRequired)
    response.fields.append(.upgrade, "websocket")
    response.fields.append(.secWebSocketVersion, "13")
    return response
  }

  /// Whether a value is 16 bytes in base64.
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

  /// The answer that accepts; `Connection: Upgrade` comes with its serialization.
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

  // MARK: Client

  /// What the client makes of the bytes that answer its request.
  public enum Answer: Sendable, Equatable {
    /// More bytes are needed.
    case incomplete
    /// The connection is a WebSocket; frames begin after this many bytes.
    case accepted(length: Int)
    /// The server refused with this status.
    case refused(Status)
    /// The answer breaks RFC 9112 or RFC 6455; the connection must be dropped.
    case invalid
  }

  /// The request of a client (RFC 6455 section 4.1).
  ///
  /// - Parameters:
  ///   - host: the value of `Host`.
  ///   - target: path and query, printable ASCII.
  ///   - nonce: 16 fresh random bytes.
  ///   - fields: further fields, such as `Origin` or `Sec-WebSocket-Protocol`.
  /// - Returns: the bytes to send, and the key to check the answer with.
  public static func request(
    host: String, target: String, nonce: [UInt8], fields: HeaderFields = HeaderFields()
  ) -> (bytes: [UInt8], key: [UInt8]) {
    let key = base64(nonce)
    var all = HeaderFields()
    all.append(.host, host)
    all.append(.upgrade, "websocket")
    all.append(.connection, "Upgrade")
    all.append(.secWebSocketKey, key)
    all.append(.secWebSocketVersion, "13")
    // A blank or control character in the target would end it.
    let safe = target.utf8.map { $0 &- 0x21 < 0x5e ? $0 : UInt8(ascii: "_") }
    let bytes =
      Array("GET ".utf8) + safe + Array(" HTTP/1.1\r\n".utf8) + all.bytes + fields.bytes
      + Array("\r\n".utf8)
    return (bytes, Array(key.utf8))
  }

  /// Checks the answer to a client's request that offered no extension (RFC 6455 section 4.1).
  ///
  /// - Parameters:
  ///   - bytes: all that has come.
  ///   - key: the key of the request.
  ///   - subprotocols: what the request offered; the server may choose one of them only.
  ///   - sha1: the hash of some bytes, 20 bytes.
  ///   - limit: the longest head taken, in bytes; at most 65,535.
  public static func checkAnswer(
    _ bytes: [UInt8], key: [UInt8], subprotocols: [String] = [], limit: Int = 16 << 10,
    sha1: ([UInt8]) -> [UInt8]
  ) -> Answer {
    let limit = min(limit, RequestHead.longest)
    guard let end = headEnd(bytes, limit: limit) else {
      return bytes.count >= limit ? .invalid : .incomplete
    }
    // The empty line and what follows its end are the last two parts.
    let lines = bytes[..<end]
      .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast(2)
    guard let first = lines.first, let status = status(first) else { return .invalid }
    guard status == .switchingProtocols else { return .refused(status) }
    var upgrade = 0
    var isConnectionUpgrade = false
    var accepts: [ArraySlice<UInt8>] = []
    var chosen: [ArraySlice<UInt8>] = []
    let span = bytes.span
    for line in lines.dropFirst() {
      guard line.last == UInt8(ascii: "\r"),
        line.dropLast().allSatisfy({ ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7f }),
        line.count > 1,
        let field = try? RequestHeadBuilder.field(span, line.startIndex..<line.endIndex - 1)
      else { return .invalid }
      if span.equals("Upgrade", in: field.name) {
        upgrade += span.equals("websocket", in: field.value) ? 1 : 2
      } else if span.equals("Connection", in: field.name) {
        span.forEachListMember(of: field.value) {
          if span.equals("upgrade", in: $0) { isConnectionUpgrade = true }
        }
      } else if span.equals("Sec-WebSocket-Accept", in: field.name) {
        accepts.append(bytes[field.value])
      } else if span.equals("Sec-WebSocket-Protocol", in: field.name) {
        chosen.append(bytes[field.value])
      } else if span.equals("Sec-WebSocket-Extensions", in: field.name) {
        return .invalid
      }
    }
    guard upgrade == 1, isConnectionUpgrade, accepts.count == 1,
      accepts[0].elementsEqual(accept(key: key, sha1: sha1).utf8),
      chosen.isEmpty
        || chosen.count == 1 && subprotocols.contains(where: { $0.utf8.elementsEqual(chosen[0]) })
    else { return .invalid }
    return .accepted(length: end)
  }

  /// Where the bytes after the empty line begin.
  private static func headEnd(_ bytes: [UInt8], limit: Int) -> Int? {
    var lineStart = 0
    for (index, byte) in bytes.prefix(limit).enumerated() where byte == UInt8(ascii: "\n") {
      if index - lineStart == 1, bytes[lineStart] == UInt8(ascii: "\r") { return index + 1 }
      lineStart = index + 1
    }
    return nil
  }

  /// Reads `HTTP/1.1 101 Switching Protocols` and its like.
  private static func status(_ line: ArraySlice<UInt8>) -> Status? {
    let digits = line.dropFirst(9).prefix(3).compactMap(\.digitValue)
    guard line.starts(with: "HTTP/1.1 ".utf8), digits.count == 3, line.last == UInt8(ascii: "\r"),
      line.count == 13 || line.dropFirst(12).first == UInt8(ascii: " ")
    else { return nil }
    let code = digits.reduce(0) { $0 * 10 + UInt16($1) }
    return (100...599).contains(code) ? Status(code) : nil
  }

  /// Base64 with padding (RFC 4648 section 4).
  private static func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var output: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for position in 0..<4 {
        output.append(
          position <= group.count
            ? alphabet[bits >> (18 - 6 * position) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: output, as: UTF8.self)
  }
}
