internal import FoundationEssentials

/// The server's side of the opening handshake (RFC 6455 section 4.2), without extensions.
public enum WebSocketHandshake {
  /// The outcome for a request.
  public enum Outcome: Sendable {
    /// The request is in order; `key` is the value of `Sec-WebSocket-Key`.
    case accept(key: [UInt8])
    /// The request is refused with a response.
    case refuse(Response)
  }

  /// Checks a request for a WebSocket (RFC 6455 sections 4.2.1 and 4.4).
  ///
  /// - Returns: the key; or 426 where the client should ask for `websocket` or for version 13;
  ///   or 400 for what is malformed.
  public static func check(_ head: RequestHead) -> Outcome {
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

/// The client's side of the opening handshake (RFC 6455 section 4.1), without extensions and without I/O.
public struct WebSocketClientHandshake: Sendable {
  /// The outcome for the server's response.
  public enum Outcome: Sendable, Equatable {
    /// More bytes are needed.
    case incomplete
    /// The connection is a WebSocket; `frames` came behind the response.
    case accepted(frames: [UInt8])
    /// The server refused with this status.
    case refused(Status)
    /// The response breaks RFC 9112 or RFC 6455; the connection must be dropped.
    case invalid
  }

  /// The request to be sent.
  public let request: [UInt8]
  /// The subprotocol that the server has chosen, or nil if it has chosen none.
  public private(set) var subprotocol: String?
  private let key: [UInt8]
  private let subprotocols: [String]
  private var response: [UInt8] = []

  /// The longest head of a response that is taken, in bytes.
  private static let headLimit = 16 << 10

  /// A handshake whose request is to be sent.
  ///
  /// - Parameters:
  ///   - host: the value of `Host`.
  ///   - target: path and query, printable ASCII.
  ///   - nonce: 16 fresh random bytes.
  ///   - fields: further fields, such as `Origin` or `Sec-WebSocket-Protocol`.
  ///   - subprotocols: the subprotocols that the fields offer; the server may choose one of them only.
  public init(
    host: String, target: String, nonce: [UInt8], fields: HeaderFields = HeaderFields(),
    subprotocols: [String] = []
  ) {
    let key = WebSocketHandshake.base64(nonce)
    var all = HeaderFields()
    all.append(.host, host)
    all.append(.upgrade, "websocket")
    all.append(.connection, "Upgrade")
    all.append(.secWebSocketKey, key)
    all.append(.secWebSocketVersion, "13")
    // A blank or control character in the target would end it.
    let safe = target.utf8.map { $0 &- 0x21 < 0x5e ? $0 : UInt8(ascii: "_") }
    request =
      Array("GET ".utf8) + safe + Array(" HTTP/1.1\r\n".utf8) + all.bytes + fields.bytes
      + Array("\r\n".utf8)
    self.key = Array(key.utf8)
    self.subprotocols = subprotocols
  }

  /// Takes bytes of the server.
  ///
  /// - Parameters:
  ///   - bytes: the next bytes of the connection.
  ///   - sha1: computes SHA-1, 20 bytes.
  /// - Returns: the outcome for all bytes so far.
  public mutating func received(_ bytes: RawSpan, sha1: ([UInt8]) -> [UInt8]) -> Outcome {
    unsafe bytes.withUnsafeBytes { unsafe response.append(contentsOf: $0) }
    guard let end = headEnd else {
      return response.count >= Self.headLimit ? .invalid : .incomplete
    }
    // The empty line and what follows its end are the last two parts.
    let lines = response[..<end]
      .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast(2)
    guard let first = lines.first, let status = Self.status(first) else { return .invalid }
    guard status == .switchingProtocols else { return .refused(status) }
    let answer = accepts(lines.dropFirst(), sha1: sha1)
    guard answer.isAccepting else { return .invalid }
    subprotocol = answer.subprotocol
    return .accepted(frames: Array(response[end...]))
  }

  /// Finds out whether the field lines of a response accept what was asked for, and the subprotocol that they choose.
  private func accepts(
    _ lines: ArraySlice<ArraySlice<UInt8>>, sha1: ([UInt8]) -> [UInt8]
  ) -> (isAccepting: Bool, subprotocol: String?) {
    var upgrade = 0
    var isConnectionUpgrade = false
    var accepts: [ArraySlice<UInt8>] = []
    var chosen: [ArraySlice<UInt8>] = []
    let span = response.span
    for line in lines {
      guard line.last == UInt8(ascii: "\r"),
        line.dropLast().allSatisfy(\.isFieldContent), line.count > 1,
        let field = try? RequestHeadBuilder.field(span, line.startIndex..<line.endIndex - 1)
      else { return (false, nil) }
      if span.equals("Upgrade", in: field.name) {
        upgrade += span.equals("websocket", in: field.value) ? 1 : 2
      } else if span.equals("Connection", in: field.name) {
        if span.list(in: field.value, contains: "upgrade") { isConnectionUpgrade = true }
      } else if span.equals("Sec-WebSocket-Accept", in: field.name) {
        accepts.append(response[field.value])
      } else if span.equals("Sec-WebSocket-Protocol", in: field.name) {
        chosen.append(response[field.value])
      } else if span.equals("Sec-WebSocket-Extensions", in: field.name) {
        return (false, nil)
      }
    }
    let subprotocol = subprotocols.first { subprotocol in
      chosen.contains { subprotocol.utf8.elementsEqual($0) }
    }
    let isAccepting =
      upgrade == 1 && isConnectionUpgrade && accepts.count == 1
      && accepts[0].elementsEqual(WebSocketHandshake.accept(key: key, sha1: sha1).utf8)
      && (chosen.isEmpty || chosen.count == 1 && subprotocol != nil)
    return (isAccepting, subprotocol)
  }

  /// The position behind the empty line, or nil if that has not come.
  private var headEnd: Int? {
    var lineStart = 0
    for (index, byte) in response.prefix(Self.headLimit).enumerated()
    where byte == UInt8(ascii: "\n") {
      if index - lineStart == 1, response[lineStart] == UInt8(ascii: "\r") { return index + 1 }
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
}
