internal import Platform
internal import Push
internal import Storage

/// A device that messages are pushed to.
struct PushedDevice: Sendable {
  let id: DeviceID
  let address: PushAddress
  /// True if it is a browser that shows notifications by itself.
  var isDeclarative = false
}

extension MsgrStore {
  /// The most pushes that wait for a browser: its push service is its user's choice, and may never take any.
  static let webPushes = 100

  /// The most pushes that wait for a browser.
  var webPushLimit: Int { min(limits.inbox, Self.webPushes) }

  /// Returns the devices that messages to a user are pushed to, in the order of their identifiers.
  func pushedDevices(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> [PushedDevice] {
    let devices: [PushedDevice?] = try database.all(
      """
      SELECT device_id, endpoint, p256dh, auth, is_declarative FROM msgr_devices
      WHERE username = ? ORDER BY device_id
      """, name, transform: PushedDevice.init)
    return devices.compactMap(\.self).filter { pushes.kinds.contains($0.address.kind) }
  }
}

extension PushedDevice {
  /// Reads a row that begins with the device, its subscription and whether it shows notifications by itself; nil for a device
  /// that is pushed to in no way.
  init?(_ row: borrowing Row) throws {
    let id: DeviceID = try row[0]
    if let endpoint: String = try row[1] {
      let key: [UInt8] = try row[2]
      let secret: [UInt8] = try row[3]
      self.init(
        id: id, address: PushAddress(stored: .web, key + secret + Array(endpoint.utf8)),
        isDeclarative: try row[4])
    } else {
      guard let address = id.pushAddress else { return nil }
      self.init(id: id, address: address)
    }
  }
}

extension DeviceID {
  /// The address of a phone, or nil if the identifier is no token.
  var pushAddress: PushAddress? {
    if let fcmToken { return PushAddress(stored: .fcm, Array(fcmToken.utf8)) }
    return isPushable ? PushAddress(stored: .apns, Array(text.utf8)) : nil
  }
}
