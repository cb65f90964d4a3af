internal import MsgrProtocol
internal import Storage

/// The kinds of push services, whose responses mean different things, by the numbers that the store has for them.
enum PushKind: Int, CaseIterable, Sendable, DatabaseValueConvertible {
  /// Apple's, or one that stands for it: one service for all its devices.
  case apns = 0
  /// The services that users' browsers name: any number of them.
  case web = 1
  /// Google's (FCM HTTP v1): one service for all its devices.
  case fcm = 2
}

extension Set<PushKind> {
  /// The kinds as bits, each at the place that is its number.
  var mask: Int { reduce(0) { $0 | 1 << $1.rawValue } }

  /// Takes kinds as bits.
  init(mask: Int) { self.init(PushKind.allCases.filter { mask >> $0.rawValue & 1 == 1 }) }
}

extension DeviceID {
  /// The kind of the push service that the identifier is a token of, or nil if it is none.
  var pushKind: PushKind? { fcmToken != nil ? .fcm : isPushable ? .apns : nil }
}
