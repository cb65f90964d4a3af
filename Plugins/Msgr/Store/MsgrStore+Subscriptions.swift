internal import Push
internal import Storage

extension MsgrStore {
  /// Binds a subscription to the caller's device, in place of an earlier one.
  ///
  /// - Throws: `.forbidden` if the caller didn't come by a token, or the device is a phone's.
  func subscribe(_ subscription: Subscription, _ caller: Caller) async throws {
    try await write(as: caller) { transaction in
      guard let device = caller.device, !device.isPushable else { throw RequestRefusal.forbidden }
      try transaction.execute(
        """
        UPDATE msgr_devices SET endpoint = ?, p256dh = ?, auth = ?, is_declarative = ?
        WHERE device_id = ?
        """, subscription.way.endpoint.text, subscription.way.key, subscription.way.secret,
        subscription.isDeclarative, device)
      try pushes.readdress(Array(device.text.utf8), to: subscription.way.address, transaction)
    }
  }

  /// Ends the subscription of the caller's device, or does nothing if there is none.
  ///
  /// - Throws: `.forbidden` if the caller didn't come by a token.
  func unsubscribe(_ caller: Caller) async throws {
    try await write(as: caller) { transaction in
      guard let device = caller.device else { throw RequestRefusal.forbidden }
      let endpoint: String?? = try transaction.value(
        "SELECT endpoint FROM msgr_devices WHERE device_id = ?", device)
      guard case .some(let endpoint?) = endpoint else { return }
      try unsubscribe(device, from: endpoint, transaction)
    }
  }

  /// Ends a subscription that a device still has, and its pushes, within a transaction.
  func unsubscribe(
    _ device: DeviceID, from endpoint: String, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE msgr_devices SET endpoint = NULL, p256dh = NULL, auth = NULL
      WHERE device_id = ? AND endpoint = ?
      """, device, endpoint)
    guard transaction.changes > 0 else { return }
    try pushes.drop(Array(device.text.utf8), evenLeased: true, transaction)
  }
}
