import Storage

extension MsgrStore {
  /// Notes what a stream has delivered.
  ///
  /// - Parameters:
  ///   - identity: whose stream it is.
  ///   - confirmed: up to here no push is needed.
  ///   - streamed: up to here it was streamed, and counts as seen.
  ///   - releasing: whether the device streams no more, so that what is left is pushed now.
  func settleStream(
    of identity: Identity, confirmed: MessageID, streamed: MessageID, releasing: Bool
  ) async throws {
    try await noteSeen(upTo: streamed, by: identity.name)
  }

  /// Queues a push.
  func enqueuePush(
    of id: MessageID, to device: DeviceID, isHeld: Bool, _ transaction: borrowing Transaction
  ) throws {
  }
}
