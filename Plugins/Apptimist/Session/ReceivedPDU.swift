internal import ApptimistProtocol

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
indirect enum PostponedPDU {
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
