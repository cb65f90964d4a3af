package import Formats
package import Platform
package import Storage

internal import Cryptography

/// The urgency of a push.
package enum PushUrgency: Int, Sendable, DatabaseValueConvertible {
  /// It can wait until the device is awake.
  case low = 0
  /// It wakes the device.
  case high = 1
}

/// A push on its way to a device's push service: a row of the outbox that is leased.
package struct LeasedPush: Sendable, Hashable, Identifiable {
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
  /// The end of the lease, if it isn't made longer.
  package let leaseEnd: Timestamp
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
  /// The data that the app gets, an object of strings in JSON, and further members of the message.
  case fcm(data: [UInt8], members: [JSONValue.Member] = [])
  /// The text before its encryption, at most ``WebPushEncryption/longest`` bytes.
  case web([UInt8])

  /// The content that is shown to who develops an app.
  var text: [UInt8] {
    switch self {
    case .apns(let text, _, _), .fcm(let text, _), .web(let text): text
    }
  }
}

/// The fault of an address, in words that follow its name.
package struct PushAddressError: Error, CustomStringConvertible {
  /// The expected form, as "is not …".
  package let description: String
}

/// An address that can be pushed to. It is a kind of secret, as its holder may push to the device.
package struct PushAddress: Hashable, Sendable {
  /// The lengths of Apple's tokens, in bytes.
  private static let lengthsOfAPNs = 32...100
  /// The lengths of Google's tokens, in bytes.
  private static let lengthsOfFCM = 32...1024

  /// The kind.
  package let kind: PushKind
  /// The form that is stored: Apple's token as lower-case hexadecimal digits, Google's as it is, and of a browser the
  /// public key, the secret and the URL of ``WebPushSubscription``.
  package let bytes: [UInt8]

  /// Takes a stored address, which was checked before it was stored.
  package init(stored kind: PushKind, _ bytes: [UInt8]) {
    self.kind = kind
    self.bytes = bytes
  }

  /// Checks an address.
  ///
  /// - Parameter allowed: the hosts of browsers' push services that may have another port than 443.
  /// - Throws: ``PushAddressError`` that says what is expected.
  package init(
    _ kind: PushKind, bytes: [UInt8], allowed: Set<HostAndPort> = []
  ) throws(PushAddressError) {
    switch kind {
    case .apns, .apnsSandbox:
      guard Self.lengthsOfAPNs.contains(bytes.count) else {
        throw PushAddressError(description: "is not 32 to 100 bytes")
      }
      self.init(stored: kind, Array(Hex.encode(bytes).utf8))
    case .fcm:
      guard Self.lengthsOfFCM.contains(bytes.count),
        bytes.allSatisfy({ $0.isLetterOrDigit || "_:-".utf8.contains($0) })
      else {
        throw PushAddressError(description: "is not 32 to 1,024 of the characters of an FCM token")
      }
      self.init(stored: kind, bytes)
    case .web:
      self = try WebPushSubscription(bytes, allowed: allowed).address
    }
  }

  /// Checks a token in text: Apple's in hexadecimal digits, or Google's.
  ///
  /// - Throws: ``PushAddressError`` that says what is expected.
  package init(_ kind: PushKind, text: String) throws(PushAddressError) {
    guard kind == .apns || kind == .apnsSandbox else {
      self = try PushAddress(kind, bytes: Array(text.utf8))
      return
    }
    guard let bytes = Hex.decode(text.utf8) else {
      throw PushAddressError(description: "is not 64 to 200 hexadecimal digits, an even number")
    }
    try self.init(kind, bytes: bytes)
  }

  /// The token in text, or the URL of a browser.
  package var text: String {
    kind == .web
      ? String(decoding: bytes.dropFirst(WebPushSubscription.keysLength), as: UTF8.self)
      : String(decoding: bytes, as: UTF8.self)
  }
}

extension PushAddress: CustomStringConvertible, CustomDebugStringConvertible {
  /// The first characters of a token, or the origin of a browser's push service: enough for a log.
  package var description: String {
    kind == .web ? PushEndpoint(stored: text)?.origin ?? "" : "\(text.prefix(8))…"
  }
  /// The same as ``description``.
  package var debugDescription: String { description }
}

/// The kinds of addresses, by the numbers that the store has for them. Each has a push service, or a kind of them, whose
/// responses mean something of their own.
package enum PushKind: Int, CaseIterable, Sendable, DatabaseValueConvertible {
  /// Apple's push service, or one that stands for it: one for all its devices.
  case apns = 0
  /// The push services that users' browsers name: any number of them.
  case web = 1
  /// Google's push service (FCM HTTP v1): one for all its devices.
  case fcm = 2
  /// Apple's push service for apps that are being made.
  case apnsSandbox = 3

  /// The name that clients and the operator know the kind by.
  package var name: String {
    // In words, as the compiler's own take long to look up.
    switch self {
    case .apns: "apns"
    case .apnsSandbox: "apns-sandbox"
    case .fcm: "fcm"
    case .web: "web"
    }
  }

  /// The label of metrics: Apple's two push services are one provider.
  var provider: String { self == .apnsSandbox ? PushKind.apns.name : name }
}

extension Set<PushKind> {
  /// The kinds as bits, each at the place that is its number.
  package var mask: Int { reduce(0) { $0 | 1 << $1.rawValue } }

  /// Takes kinds as bits.
  package init(mask: Int) { self.init(PushKind.allCases.filter { mask >> $0.rawValue & 1 == 1 }) }
}

/// The part of a service that its pushes need.
package protocol PushSource: Sendable {
  /// Makes the payload of a push, in the form for the kind of its address, when it is sent.
  ///
  /// - Returns: nil if it can't be made: then the push is dropped.
  func payload(of push: LeasedPush) -> PushPayload?

  /// Ends the address of a push, if it is still the device's, with what else waits for the device.
  ///
  /// The push itself is settled in the same transaction, but not touched before: so this locks the service's own rows first,
  /// as whoever queues does.
  ///
  /// - Parameter moment: the moment before which the address was bound if it is gone, or nil if it is in any case.
  func end(_ push: LeasedPush, boundBefore moment: Timestamp?, _ transaction: borrowing Transaction)
    throws

  /// Returns the names that `GET /debug/pushes` shows for a push and its device.
  func labels(of push: LeasedPush) -> (id: String, device: String)
}

extension PushSource {
  /// Returns the push's UUID and the whole address.
  package func labels(of push: LeasedPush) -> (id: String, device: String) {
    (push.pushID, push.address.text)
  }
}
