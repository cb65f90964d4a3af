internal import Push
internal import Storage
internal import Platform

/// Makes the payloads of pushes of messages, and unbinds devices that are gone.
struct MsgrPushes: PushSource {
  let store: MsgrStore
  /// The page that a tap opens if the message has no link.
  let page: String

  func payload(of push: Push) -> PushPayload? {
    guard let message = PushedMessage(push) else { return nil }
    return switch push.address.kind {
    case .apns, .apnsSandbox: .apns(APNsPayload.json(of: message))
    case .fcm: .fcm(data: FCMMessage.data(of: message))
    case .web: .web(WebPushPayload.json(of: message, isShort: push.isShort, page: page))
    }
  }

  func end(
    _ push: Push, boundBefore moment: Timestamp?, _ transaction: borrowing Transaction
  ) throws {
    let device = DeviceID(stored: String(decoding: push.device, as: UTF8.self))
    try store.deliveries.lock(device, transaction)
    guard push.address.kind != .web else {
      return try store.unsubscribe(device, from: push.address.text, transaction)
    }
    // The other pushes to the device go with it.
    try transaction.execute(
      "DELETE FROM msgr_devices WHERE device_id = ? AND bound_at < ?", device,
      moment ?? Timestamp(milliseconds: .max))
  }

  func labels(of push: Push) -> (id: String, device: String) {
    (PushedMessage(push)?.id.text ?? push.pushID, String(decoding: push.device, as: UTF8.self))
  }
}
