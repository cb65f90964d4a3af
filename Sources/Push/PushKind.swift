internal import Storage

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
  package var name: String { self == .apnsSandbox ? "apns-sandbox" : "\(self)" }

  /// The label of metrics: Apple's two push services are one provider.
  var provider: String { self == .apnsSandbox ? "apns" : "\(self)" }
}

extension Set<PushKind> {
  /// The kinds as bits, each at the place that is its number.
  package var mask: Int { reduce(0) { $0 | 1 << $1.rawValue } }

  /// Takes kinds as bits.
  package init(mask: Int) { self.init(PushKind.allCases.filter { mask >> $0.rawValue & 1 == 1 }) }
}
