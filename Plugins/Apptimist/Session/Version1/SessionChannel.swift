internal import ApptimistProtocol
internal import HTTPProtocol

/// Opens a device's messages in a session, and boxes the service's.
struct SessionChannel: ~Copyable {
  private var boxes: HeaderChannel

  /// Makes the channel of a new session.
  ///
  /// - Returns: nil if no secret can be agreed on with the ephemeral key.
  init?(_ setup: SessionSetup) {
    let boxes = HeaderChannel(
      own: setup.encryption, peer: setup.ephemeralKey, dataNonce: setup.identity.dataNonce)
    guard let boxes else { return nil }
    self.boxes = boxes
  }

  /// True if the counters of a direction are used up.
  var isWornOut: Bool { boxes.isWornOut }

  /// Opens a message.
  ///
  /// - Throws: the end that a message which is no frame, is too large or does not open leads to.
  mutating func open(
    _ message: WebSocketMessage, _ limits: SessionLimits
  ) throws(SessionEnd) -> ReceivedFrame {
    guard case .binary(let bytes) = message else { throw .close(1003) }
    let frame: Frame
    do throws(FrameError) {
      frame = try Frame(bytes, limits: limits.frame)
    } catch { throw .close(error == .overLimit ? 1009 : 1002) }
    guard let header = try? boxes.open(frame) else { throw .refuse }
    return ReceivedFrame(header: header, data: [UInt8](frame.eData))
  }

  /// Sends a PDU, whose data is boxed already.
  ///
  /// - Throws: the end of a session whose last counter this took.
  mutating func send(
    _ pdu: PDU, data: [UInt8] = [], _ context: inout SessionContext
  ) throws(SessionEnd) { try send(try? boxes.seal(pdu, data: data[...]), .other, &context) }

  /// Sends a message of the stream, whose header is in clear.
  ///
  /// - Throws: the end of a session whose last counter this took.
  mutating func send(
    header: [UInt8], data: [UInt8], _ context: inout SessionContext
  ) throws(SessionEnd) {
    try send(try? boxes.seal(header: header, data: data[...]), .message, &context)
  }

  private mutating func send(
    _ message: [UInt8]?, _ kind: SessionAction.Sent, _ context: inout SessionContext
  ) throws(SessionEnd) {
    guard let message else { throw .close(1001) }
    context.actions.append(.send(message, kind))
    try endIfWornOut(&context)
  }

  /// Redirects the device to the same URI, where it uses another key, if the counters are used up.
  ///
  /// - Throws: the end of the session, if so.
  mutating func endIfWornOut(_ context: inout SessionContext) throws(SessionEnd) {
    if isWornOut { throw redirect(to: context.setup.uri, &context) }
  }

  /// Redirects the device to a URI.
  ///
  /// - Returns: the end that the session has with this.
  mutating func redirect(to uri: String, _ context: inout SessionContext) -> SessionEnd {
    if let pdu = PDU.Redirect(uri: uri), let message = try? boxes.seal(.redirect(pdu)) {
      context.actions.append(.send(message, .redirect))
    }
    return .close(1001)
  }
}

/// A message with its header in clear.
struct ReceivedFrame {
  let header: [UInt8]
  /// The data as it is boxed.
  let data: [UInt8]

  /// Decodes the header.
  ///
  /// - Returns: nil for a type that is unknown and therefore ignored.
  /// - Throws: the end that a malformed header or an unknown version leads to.
  func decoded(_ context: inout SessionContext) throws(SessionEnd) -> ReceivedPDU? {
    do throws(PDUError) {
      let pdu = try PDU(decoding: header)
      context.count(.received(type: header[1]))
      return ReceivedPDU(pdu: pdu, header: header, data: data)
    } catch {
      guard case .unknownType = error else { throw .refuse }
      context.count(.ignored)
      return nil
    }
  }
}

/// A PDU that came behind posts that are being queued, kept apart so that sessions stay small.
indirect enum DeferredPDU {
  case pdu(ReceivedPDU)
  case request(ReceivedRequest)
}

/// A PDU that came.
struct ReceivedPDU {
  let pdu: PDU
  /// The header in clear, as it came.
  let header: [UInt8]
  /// The data as it is boxed.
  let data: [UInt8]
}

extension PDU {
  /// True if devices never send this to the service: it is ignored, and counted.
  var isStray: Bool {
    switch self {
    case .redirect, .user: true
    case .vouchers(let vouchers): !vouchers.vouchers.isEmpty
    default: false
    }
  }
}
