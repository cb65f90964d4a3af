internal import Cryptography
internal import Platform
internal import Push
internal import Storage

/// The payloads of wakes, all of which are the same but for the tag (page "Wakes"), and the end of addresses.
struct WakeSource: PushSource {
  private static let alert =
    #""aps":{"alert":{"loc-key":"APPTIMIST_WAKE"},"mutable-content":1,"sound":"default"}"#

  func payload(of push: LeasedPush) -> PushPayload? {
    let wake = #""wake":"\#(Hex.encode(push.content))""#
    return switch push.address.kind {
    case .apns, .apnsSandbox: .apns(Array("{\(Self.alert),\(wake)}".utf8))
    case .fcm: .fcm(data: Array("{\(wake)}".utf8))
    case .web: .web(Array("{\(wake)}".utf8))
    }
  }

  func end(
    _ push: LeasedPush, boundBefore moment: Timestamp?, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      DELETE FROM apptimist_addresses WHERE (owner, device) IN (
        SELECT owner, device FROM apptimist_addresses
        WHERE kind = ? AND address = ? AND bound_at < ?
        ORDER BY owner, device /*postgresql FOR UPDATE */)
      """, push.address.kind, push.address.bytes, moment ?? Timestamp(milliseconds: .max))
  }
}
