internal import MsgrProtocol
internal import Storage

extension MsgrStore {
  /// Binds a subscription to the caller's device, in place of an earlier one.
  ///
  /// - Throws: `.forbidden` if the caller didn't come by a token, or the device is a phone's.
  func subscribe(_ subscription: WebPushSubscription, _ caller: Caller) async throws {
    try await write(as: caller) { transaction in
      guard let device = caller.device, !device.isPushable else { throw RequestRefusal.forbidden }
      try transaction.execute(
        """
        UPDATE msgr_devices SET endpoint = ?, p256dh = ?, auth = ?, is_declarative = ?
        WHERE device_id = ?
        """, subscription.endpoint.text, subscription.key, subscription.secret,
        subscription.isDeclarative, device)
    }
  }

  /// Ends the subscription of the caller's device, or does nothing if there is none.
  ///
  /// - Throws: `.forbidden` if the caller didn't come by a token.
  func unsubscribe(_ caller: Caller) async throws {
    try await write(as: caller) { transaction in
      guard let device = caller.device else { throw RequestRefusal.forbidden }
      guard let found = try subscription(of: device, transaction) else { return }
      try unsubscribe(device, from: found.endpoint.text, transaction)
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
    try transaction.execute(
      "DELETE FROM push_outbox WHERE device_id = ? AND provider = ?", device, PushKind.web)
  }

  /// Returns the subscription of a device, or nil if there is none.
  func subscription(
    of device: DeviceID, _ database: borrowing some Queryable & ~Copyable
  ) throws -> WebPushSubscription? {
    try database.one(
      """
      SELECT endpoint, p256dh, auth, is_declarative FROM msgr_devices
      WHERE device_id = ? AND endpoint IS NOT NULL
      """, device
    ) { row -> WebPushSubscription? in
      guard let endpoint = PushEndpoint(stored: try row[0]) else { return nil }
      return WebPushSubscription(
        endpoint: endpoint, key: try row[1], secret: try row[2], isDeclarative: try row[3])
    } ?? nil
  }
}
