internal import ApptimistProtocol

/// A request of a device of version 2 that came.
struct ReceivedRequest {
  let pdu: Version2.DevicePDU
  let data: [UInt8]

  /// Whether there is data where the type has none.
  var hasStrayData: Bool {
    switch pdu.body {
    case .new, .message, .write: false
    default: !data.isEmpty
    }
  }
}
