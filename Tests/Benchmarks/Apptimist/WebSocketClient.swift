internal import HTTPProtocol

/// A client that speaks by messages over a WebSocket.
class WebSocketClient: Client {
  private var decoder = WebSocketDecoder(role: .client, maximumMessage: 4 << 20)
  private var response: [UInt8]? = []
  private var mask = UInt32.random(in: 0 ... .max)

  /// Connects and asks for the upgrade.
  ///
  /// - Parameters:
  ///   - port: the server's TCP port on this machine.
  ///   - target: the path and the query.
  ///   - subprotocol: the subprotocol to offer, if any.
  ///   - receiveBuffer: the kernel's receive buffer in bytes, or 0 for its default.
  init(
    port: UInt16, target: String, subprotocol: String? = nil, receiveBuffer: Int32 = 0
  ) throws(LoadError) {
    try super.init(port: port, receiveBuffer: receiveBuffer)
    let offer = subprotocol.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
    let request =
      "GET \(target) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
      + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\(offer)"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    outgoing += Array(request.utf8)
  }

  /// Records the upgrade.
  func upgraded() {}

  /// Takes a message.
  func take(_ message: [UInt8]) throws(LoadError) {}

  /// Sends a message.
  func send(message: [UInt8]) {
    mask = mask &* 1_664_525 &+ 1_013_904_223
    WebSocketFrame.append(.binary, message, mask: mask, to: &outgoing)
    wasAppended()
  }

  override func received(_ bytes: ArraySlice<UInt8>) throws(LoadError) {
    var frames = bytes
    if var response {
      response += bytes
      self.response = response
      guard response.count >= 4, let end = Self.end(of: response) else { return }
      guard response.starts(with: Array("HTTP/1.1 101".utf8)) else {
        throw LoadError(String(decoding: response, as: UTF8.self))
      }
      self.response = nil
      frames = response[end...]
      upgraded()
    }
    var offset = 0
    while let event = decoder.next(frames.span.bytes, from: &offset) {
      switch event {
      case .message(.binary(let message)): try take(message)
      case .ping(let payload):
        WebSocketFrame.append(.pong, payload, mask: mask, to: &outgoing)
        wasAppended()
      case .close(let code, _): throw LoadError("the service has closed with \(code ?? 1005)")
      case .message(.text), .pong, .violation: throw LoadError("not a frame of the service")
      }
    }
  }

  private static func end(of response: [UInt8]) -> Int? {
    response.indices.dropLast(3).first { response[$0...].starts(with: [13, 10, 13, 10]) }
      .map { $0 + 4 }
  }
}
