internal import ApptimistProtocol

/// A PDU that a device sends, with its data.
enum OutgoingPDU: Equatable {
  /// One of version 1, whose data is boxed already.
  case version1(PDU, data: [UInt8] = [])
  case version2(Version2.DevicePDU, data: [UInt8] = [])
}
