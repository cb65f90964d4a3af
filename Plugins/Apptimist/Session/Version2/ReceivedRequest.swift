internal import ApptimistProtocol

/// A request of a device of version 2 that came.
struct ReceivedRequest {
  let request: OpenRequest
  /// The request of the device, or nil if there is no such type.
  let body: Version2.DevicePDU.Body?
  let data: [UInt8]

  /// True if there is data where a type that may be asked for after the login has none.
  var hasStrayData: Bool {
    switch body {
    case .new, .message, .write, .login, .push, nil: false
    default: !data.isEmpty
    }
  }
}
