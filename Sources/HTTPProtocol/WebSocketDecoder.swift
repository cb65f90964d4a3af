internal import Formats

/// A whole message, its fragments joined.
public enum WebSocketMessage: Sendable, Equatable {
  /// Valid UTF-8.
  case text([UInt8])
  /// Any bytes.
  case binary([UInt8])

  /// The content.
  public var bytes: [UInt8] {
    switch self {
    case .text(let bytes), .binary(let bytes): bytes
    }
  }
}

/// Reads WebSocket frames from a stream of bytes and joins messages (RFC 6455 section 5).
///
/// Strict, total, and incremental; without extensions, so the reserved bits must be zero. Text is
/// checked as it comes. Memory is taken for what has come, never for what a length promises, and
/// an idle decoder has none beside itself.
public struct WebSocketDecoder: Sendable {
  /// The end of the connection that decodes.
  public enum Role: Sendable {
    /// Takes masked frames only.
    case server
    /// Takes unmasked frames only.
    case client
  }

  /// The meaning of the frames.
  public enum Event: Sendable, Equatable {
    /// A whole message.
    case message(WebSocketMessage)
    /// A ping, whose pong has the same content.
    case ping([UInt8])
    /// A pong.
    case pong([UInt8])
    /// The peer closes: its code, if it gave one, and its reason, valid UTF-8.
    case close(UInt16?, reason: [UInt8])
    /// The peer broke the protocol or a limit: the code to close with, 1002, 1007, 1008 or 1009.
    case violation(UInt16)
  }

  private enum Stage: UInt8 { case opcode, length, longLength, mask, payload, over }

  /// The longest message taken, in bytes; a longer one is a violation, 1009.
  public var maximumMessage: Int
  /// The number of fragments without content of one message that are taken; more are a violation, 1008.
  private static let emptyFragmentLimit = 32
  /// The message so far.
  private var message: [UInt8] = []
  /// The content of a control frame so far, which may come amid a message.
  private var control: [UInt8] = []
  /// Payload bytes that the frame still has; while its header is read, its length so far.
  private var remaining: UInt64 = 0
  private var mask = WebSocketMask(0)
  private let role: Role
  private var stage = Stage.opcode
  /// The number of bytes that a field of the header still needs.
  private var missing: UInt8 = 0
  private var opcode = WebSocketFrame.Opcode.continuation
  /// True if the length of the frame stands in eight bytes, not two.
  private var isWide = false
  private var isFinal = false
  /// True if a message has begun whose last frame has not come.
  private var isFragmented = false
  private var isText = false
  private var emptyFragments = 0
  private var text = UTF8Validator()

  /// A decoder for one connection.
  ///
  /// - Parameters:
  ///   - role: the end that decodes.
  ///   - maximumMessage: the longest message taken, in bytes; a longer one is a violation, 1009.
  public init(role: Role, maximumMessage: Int) {
    self.role = role
    self.maximumMessage = maximumMessage
  }

  /// Reads on.
  ///
  /// - Parameters:
  ///   - input: bytes of the stream.
  ///   - offset: the position to begin at; moved past the bytes that were taken.
  /// - Returns: the next event, or nil when all input was taken. After a close or a violation always nil.
  public mutating func next(_ input: RawSpan, from offset: inout Int) -> Event? {
    unsafe input.withUnsafeBytes { bytes in
      while true {
        switch stage {
        case .over:
          offset = bytes.count
          return nil
        case .payload:
          if let event = unsafe parsePayload(bytes, &offset) { return event }
          if stage == .payload { return nil }
        case .opcode, .length, .longLength, .mask:
          guard offset < bytes.count else { return nil }
          let byte = unsafe bytes[offset]
          offset += 1
          if let code = parseHeader(byte) { return fail(code) }
        }
      }
    }
  }

  /// The number of bytes of memory that the unfinished message takes.
  public var unfinishedBytes: Int { message.capacity }

  /// The number of bytes of an unfinished message that have come, or nil if none has begun.
  public var unfinishedCount: Int? {
    let isWithinFrame = stage != .opcode && stage != .over && !opcode.isControl
    return isFragmented || isWithinFrame ? message.count : nil
  }

  private mutating func fail(_ code: UInt16) -> Event {
    stage = .over
    message = []
    control = []
    return .violation(code)
  }

  // MARK: Header

  /// Takes the next byte of a frame's header.
  ///
  /// - Returns: the code to close with if it breaks the protocol.
  private mutating func parseHeader(_ byte: UInt8) -> UInt16? {
    switch stage {
    case .opcode: return parseOpcode(byte)
    case .length: return parseLength(byte)
    case .longLength:
      remaining = remaining << 8 | UInt64(byte)
      missing -= 1
      guard missing == 0 else { return nil }
      // Lengths must be written in the shortest form, and the highest bit is zero.
      guard remaining >= (isWide ? 65536 : 126), remaining >> 63 == 0 else {
        return WebSocketClose.protocolError
      }
      return endLength()
    case .mask:
      mask.append(byte)
      missing -= 1
      if missing == 0 { stage = .payload }
      return nil
    case .payload, .over: return nil
    }
  }

  private mutating func parseOpcode(_ byte: UInt8) -> UInt16? {
    guard byte & 0x70 == 0, let opcode = WebSocketFrame.Opcode(rawValue: byte & 0x0f) else {
      return WebSocketClose.protocolError
    }
    let isFinal = byte & 0x80 != 0
    let fits =
      switch opcode {
      case .continuation: isFragmented
      case .text, .binary: !isFragmented
      case .close, .ping, .pong: isFinal
      }
    guard fits else { return WebSocketClose.protocolError }
    if opcode == .text || opcode == .binary {
      isText = opcode == .text
      text = UTF8Validator()
      emptyFragments = 0
    }
    if !opcode.isControl { isFragmented = !isFinal }
    self.opcode = opcode
    self.isFinal = isFinal
    stage = .length
    return nil
  }

  private mutating func parseLength(_ byte: UInt8) -> UInt16? {
    guard (byte & 0x80 != 0) == (role == .server) else { return WebSocketClose.protocolError }
    let length = byte & 0x7f
    guard length >= 126 else {
      remaining = UInt64(length)
      return endLength()
    }
    guard !opcode.isControl else { return WebSocketClose.protocolError }
    remaining = 0
    isWide = length == 127
    missing = isWide ? 8 : 2
    stage = .longLength
    return nil
  }

  private mutating func endLength() -> UInt16? {
    if !opcode.isControl, remaining > UInt64(max(maximumMessage - message.count, 0)) {
      return WebSocketClose.tooBig
    }
    if !opcode.isControl, remaining == 0 {
      // They bring nothing nearer to its end, and no limit of a message counts them.
      emptyFragments += 1
      guard emptyFragments <= Self.emptyFragmentLimit else { return WebSocketClose.policyViolation }
    }
    missing = 4
    stage = role == .server ? .mask : .payload
    return nil
  }

  // MARK: Payload

  /// Takes what there is of a frame's payload.
  ///
  /// - Returns: the event that the frame completes, if any.
  private mutating func parsePayload(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) -> Event? {
    let count = Int(min(remaining, UInt64(input.count - offset)))
    let piece = unsafe UnsafeRawBufferPointer(rebasing: input[offset..<offset + count])
    offset += count
    remaining -= UInt64(count)
    if opcode.isControl {
      unsafe Self.append(piece, to: &control, role, &mask)
    } else {
      let start = message.count
      unsafe Self.append(piece, to: &message, role, &mask)
      guard !isText || isValidText(from: start) else { return fail(WebSocketClose.invalidText) }
    }
    guard remaining == 0 else { return nil }
    stage = .opcode
    return endFrame()
  }

  private static func append(
    _ piece: UnsafeRawBufferPointer, to payload: inout [UInt8], _ role: Role,
    _ mask: inout WebSocketMask
  ) {
    guard unsafe !piece.isEmpty else { return }
    let start = payload.count
    unsafe payload.append(contentsOf: piece)
    guard role == .server else { return }
    unsafe payload.withUnsafeMutableBytes { bytes in
      unsafe mask.apply(to: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
    }
  }

  private mutating func isValidText(from start: Int) -> Bool {
    unsafe message.withUnsafeBytes { bytes in
      unsafe text.accept(UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }
  }

  private mutating func endFrame() -> Event? {
    switch opcode {
    case .continuation, .text, .binary:
      guard isFinal else { return nil }
      guard !isText || text.isComplete else { return fail(WebSocketClose.invalidText) }
      let whole = exchange(&message, with: [])
      return .message(isText ? .text(whole) : .binary(whole))
    case .ping: return .ping(exchange(&control, with: []))
    case .pong: return .pong(exchange(&control, with: []))
    case .close: return endClose()
    }
  }

  private mutating func endClose() -> Event {
    let body = exchange(&control, with: [])
    if body.isEmpty {
      stage = .over
      message = []
      return .close(nil, reason: [])
    }
    guard body.count >= 2 else { return fail(WebSocketClose.protocolError) }
    let code = UInt16(body[0]) << 8 | UInt16(body[1])
    guard WebSocketClose.isValid(code) else { return fail(WebSocketClose.protocolError) }
    guard String(validating: body[2...], as: UTF8.self) != nil else {
      return fail(WebSocketClose.invalidText)
    }
    stage = .over
    message = []
    return .close(code, reason: Array(body[2...]))
  }
}

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
  mutating func append(_ byte: UInt8) { key = key << 8 | UInt32(byte) }

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
