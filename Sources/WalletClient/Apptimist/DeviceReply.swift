internal import ApptimistProtocol

/// The service's reply to a ``DeviceRequest`` that it has carried out.
enum DeviceReply: Equatable {
  case done
  /// A part of a list of accounts; `next` is zero at its end.
  case users([DeviceUser], next: Version2.Cursor)
  /// A part of a list of vouchers; `next` is zero at its end.
  case vouchers([Version2.Voucher], next: Version2.Cursor)
  /// A file.
  case content([UInt8])
}
