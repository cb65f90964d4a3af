public import Storage
public import Time

/// The urgency of a push.
public enum PushUrgency: Int, Sendable, DatabaseValueConvertible {
  /// It can wait until the device is awake.
  case low = 0
  /// It wakes the device.
  case high = 1
}

/// A push that a service queues.
public struct NewPush: Sendable {
  /// The bytes that order goes by within the service, as one push of a device is under way at a time.
  let device: [UInt8]
  /// The bytes of whom the push counts for.
  let account: [UInt8]
  let address: PushAddress
  let content: [UInt8]
  let urgency: PushUrgency
  let collapseKey: String?
  let position: Int64
  let created: Timestamp
  let due: Timestamp
  let expires: Timestamp
  let most: Int?

  /// Makes a push.
  ///
  /// - Parameters:
  ///   - device: the device, in the service's own bytes.
  ///   - account: whom the push counts for, in the service's own bytes.
  ///   - address: the address.
  ///   - content: what the service makes the payload of.
  ///   - urgency: the urgency.
  ///   - collapseKey: the name under which a push service lets a later push replace an earlier one.
  ///   - position: the service's own number, by which it finds the push again.
  ///   - created: the time.
  ///   - due: the moment before which it isn't sent.
  ///   - expires: the moment from which it isn't sent.
  ///   - most: the pushes that may wait for the device, of which the oldest go first; nil to look at none.
  public init(
    device: [UInt8], account: [UInt8], address: PushAddress, content: [UInt8],
    urgency: PushUrgency = .high, collapseKey: String? = nil, position: Int64 = 0,
    created: Timestamp, due: Timestamp, expires: Timestamp, most: Int?
  ) {
    (self.device, self.account, self.address, self.content) = (device, account, address, content)
    (self.urgency, self.collapseKey, self.position) = (urgency, collapseKey, position)
    (self.created, self.due, self.expires, self.most) = (created, due, expires, most)
  }
}

/// A push on its way to a device's push service: a row of the outbox that is leased.
public struct Push: Sendable, Hashable, Identifiable {
  /// The number of the row.
  public let id: Int64
  /// The service's name.
  public let service: String
  /// The device, in the service's own bytes.
  public let device: [UInt8]
  /// The account that it counts for, in the service's own bytes.
  public let account: [UInt8]
  /// The address.
  public let address: PushAddress
  /// The UUID that Apple knows the push by, the same at each attempt.
  public let pushID: String
  /// What the service makes the payload of.
  public let content: [UInt8]
  /// The urgency.
  public let urgency: PushUrgency
  /// The name under which a push service lets a later push replace an earlier one.
  public let collapseKey: String?
  /// The moment at which it was queued.
  public let created: Timestamp
  /// The moment from which it isn't sent.
  public let expires: Timestamp
  /// The number of attempts, this one included.
  public let attempts: Int
  /// True if what can be left out is left out, as the push service takes no longer pushes.
  public internal(set) var isShort = false
}

/// The content of a request to a push service.
public enum PushPayload: Sendable {
  /// The whole of it in JSON, and Apple's type and priority.
  case apns([UInt8], type: String = "alert", priority: Int = 10)
  /// The data that the app gets, an object of strings in JSON, and further members of the message, each behind a comma.
  case fcm(data: [UInt8], more: String = "")
  /// The text before its encryption, at most ``WebPushEncryption/longest`` bytes.
  case web([UInt8])

  /// The content that is shown to who develops an app.
  var text: [UInt8] {
    switch self {
    case .apns(let text, _, _), .fcm(let text, _), .web(let text): text
    }
  }
}
