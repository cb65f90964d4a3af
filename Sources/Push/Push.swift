internal import Storage
package import Platform

/// The urgency of a push.
package enum PushUrgency: Int, Sendable, DatabaseValueConvertible {
  /// It can wait until the device is awake.
  case low = 0
  /// It wakes the device.
  case high = 1
}

/// A push on its way to a device's push service: a row of the outbox that is leased.
package struct Push: Sendable, Hashable, Identifiable {
  /// The number of the row.
  package let id: Int64
  /// The service's name.
  package let service: String
  /// The device, in the service's own bytes.
  package let device: [UInt8]
  /// The account that it counts for, in the service's own bytes.
  package let account: [UInt8]
  /// The address.
  package let address: PushAddress
  /// The UUID that Apple knows the push by, the same at each attempt.
  package let pushID: String
  /// What the service makes the payload of.
  package let content: [UInt8]
  /// The urgency.
  package let urgency: PushUrgency
  /// The name under which a push service lets a later push replace an earlier one.
  package let collapseKey: String?
  /// The moment at which it was queued.
  package let created: Timestamp
  /// The moment from which it isn't sent.
  package let expires: Timestamp
  /// The number of attempts, this one included.
  package let attempts: Int
  /// True if what can be left out is left out, as the push service takes no longer pushes.
  package internal(set) var isShort = false

  /// The longest time that Google's and browsers' push services keep a push.
  private static let longestLife = Duration.seconds(28 * 86_400)

  /// The seconds of its life that are left.
  func secondsLeft(at now: Timestamp) -> Int64 {
    min(max(now.duration(to: expires), .zero), Self.longestLife).components.seconds
  }
}

/// The content of a request to a push service.
package enum PushPayload: Sendable {
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
