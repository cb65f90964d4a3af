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
    (self.role, self.maximumMessage) = (role, maximumMessage)
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
          if let event = unsafe takePayload(bytes, &offset) { return event }
          if stage == .payload { return nil }
        case .opcode, .length, .longLength, .mask:
          guard offset < bytes.count else { return nil }
          let byte = unsafe bytes[offset]
          offset += 1
          if let code = takeHeader(byte) { return fail(code) }
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
  private mutating func takeHeader(_ byte: UInt8) -> UInt16? {
    switch stage {
    case .opcode: return takeOpcode(byte)
    case .length: return takeLength(byte)
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
      mask.take(byte)
      missing -= 1
      if missing == 0 { stage = .payload }
      return nil
    case .payload, .over: return nil
    }
  }

  private mutating func takeOpcode(_ byte: UInt8) -> UInt16? {
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
    (self.opcode, self.isFinal) = (opcode, isFinal)
    stage = .length
    return nil
  }

  private mutating func takeLength(_ byte: UInt8) -> UInt16? {
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
  private mutating func takePayload(
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
