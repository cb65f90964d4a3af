/// A frame as a server sends it.
struct Frame: Equatable {
  var opcode: UInt8
  var isFinal = true
  var payload: [UInt8]

  var text: String { String(decoding: payload, as: UTF8.self) }

  static func close(_ code: UInt16) -> Frame {
    Frame(opcode: 8, payload: [UInt8(code >> 8), UInt8(code & 0xff)])
  }
}

extension Client {
  /// The handshake of RFC 6455 section 1.3, whose response is known.
  static let handshake = """
    GET /ws HTTP/1.1\r
    Host: test\r
    Upgrade: websocket\r
    Connection: Upgrade\r
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
    Sec-WebSocket-Version: 13\r
    \r\n
    """

  /// Makes the connection a WebSocket.
  func upgrade() throws {
    try send(Client.handshake)
    guard try readHead().status == 101 else { throw ClientError.malformed("no upgrade") }
  }

  func send(
    _ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isMasked: Bool = true
  ) throws {
    try send(Client.frame(opcode, payload, isFinal: isFinal, isMasked: isMasked))
  }

  func sendText(_ text: String) throws { try send(1, Array(text.utf8)) }

  static func frame(
    _ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isMasked: Bool = true
  ) -> [UInt8] {
    var frame = [opcode | (isFinal ? 0x80 : 0)]
    let maskBit: UInt8 = isMasked ? 0x80 : 0
    switch payload.count {
    case ..<126: frame.append(maskBit | UInt8(payload.count))
    case ..<65536: frame += [maskBit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    default:
      frame.append(maskBit | 127)
      frame += (0..<8).map { UInt8(payload.count >> (56 - 8 * $0) & 255) }
    }
    guard isMasked else { return frame + payload }
    let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
    return frame + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
  }

  func readFrame() throws -> Frame {
    let head = try read(2)
    guard head[1] & 0x80 == 0, head[0] & 0x70 == 0 else { throw ClientError.malformed("frame") }
    let length =
      switch head[1] {
      case 126: try read(2).reduce(0) { $0 << 8 | Int($1) }
      case 127: try read(8).reduce(0) { $0 << 8 | Int($1) }
      default: Int(head[1])
      }
    return Frame(
      opcode: head[0] & 0x0f, isFinal: head[0] & 0x80 != 0, payload: try read(length))
  }
}
