internal import Formats

/// Writes WebSocket frames (RFC 6455 section 5.2).
public enum WebSocketFrame {
  /// The kind of a frame (RFC 6455 section 11.8).
  public enum Opcode: UInt8, Sendable {
    /// Goes on with a fragmented message.
    case continuation = 0
    /// A text message or its first fragment.
    case text = 1
    /// A binary message or its first fragment.
    case binary = 2
    /// Closes.
    case close = 8
    /// Asks for a pong.
    case ping = 9
    /// Replies to a ping.
    case pong = 10

    /// Close, ping or pong: at most 125 bytes, and never fragmented.
    var isControl: Bool { rawValue >= 8 }
  }

  /// Appends a frame.
  ///
  /// - Parameters:
  ///   - opcode: the kind of the frame.
  ///   - payload: the content; of a close, ping or pong only the first 125 bytes are sent.
  ///   - isFinal: whether the message ends with this frame.
  ///   - mask: a fresh random key, its highest byte first on the wire, for a client; nil for a server.
  ///   - output: the bytes to append to.
  public static func append(
    _ opcode: Opcode, _ payload: some Collection<UInt8>, isFinal: Bool = true, mask: UInt32?,
    to output: inout [UInt8]
  ) {
    let count = opcode.isControl ? min(payload.count, 125) : payload.count
    output.append(isFinal || opcode.isControl ? 0x80 | opcode.rawValue : opcode.rawValue)
    let maskBit: UInt8 = mask == nil ? 0 : 0x80
    switch count {
    case ..<126: output.append(maskBit | UInt8(count))
    case ..<65536:
      output.append(maskBit | 126)
      output.append(bigEndian: UInt16(count))
    default:
      output.append(maskBit | 127)
      output.append(bigEndian: UInt64(count))
    }
    guard let mask else {
      output.append(contentsOf: payload.prefix(count))
      return
    }
    output.append(bigEndian: mask)
    let start = output.count
    output.append(contentsOf: payload.prefix(count))
    var masking = WebSocketMask(mask)
    unsafe output.withUnsafeMutableBytes { bytes in
      unsafe masking.apply(to: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
    }
  }

  /// The payload of a close frame (RFC 6455 section 5.5.1).
  ///
  /// - Parameters:
  ///   - code: the close code. Without one, and with one that must not be sent, the payload is empty.
  ///   - reason: text of at most 123 bytes; cut at a character if longer.
  public static func closePayload(_ code: UInt16?, reason: String = "") -> [UInt8] {
    guard let code, WebSocketClose.isValid(code) else { return [] }
    var payload = [UInt8(code >> 8), UInt8(code & 0xff)]
    for character in reason.unicodeScalars {
      guard let encoded = UTF8.encode(character), payload.count + encoded.count <= 125 else {
        break
      }
      payload.append(contentsOf: encoded)
    }
    return payload
  }
}

/// Close codes (RFC 6455 section 7.4).
enum WebSocketClose {
  static let protocolError: UInt16 = 1002
  /// Stands for a close frame without a code, and is never sent.
  static let none: UInt16 = 1005
  static let invalidText: UInt16 = 1007
  static let policyViolation: UInt16 = 1008
  static let tooBig: UInt16 = 1009

  /// Returns whether a code may stand in a close frame: registered, or 3000 to 4999.
  static func isValid(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }
}

/// The masking of a payload (RFC 6455 section 5.3), which may come in pieces.
struct WebSocketMask: Sendable {
  /// The key, rotated so that its highest byte is the next one to use.
  private var key: UInt32

  /// A mask whose highest byte is the first on the wire.
  init(_ key: UInt32) { self.key = key }

  /// Shifts the next byte of a key in.
  mutating func take(_ byte: UInt8) { key = key << 8 | UInt32(byte) }

  /// Masks or unmasks the next piece in place.
  mutating func apply(to bytes: UnsafeMutableRawBufferPointer) {
    let wide = (UInt64(key) << 32 | UInt64(key)).bigEndian
    var index = 0
    while index + 8 <= bytes.count {
      let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      unsafe bytes.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
      index += 8
    }
    while index < bytes.count {
      unsafe bytes[index] ^= UInt8(key >> 24)
      key = key << 8 | key >> 24
      index += 1
    }
  }
}
