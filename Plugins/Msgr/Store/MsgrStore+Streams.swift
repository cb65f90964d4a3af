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
    guard let device = identity.device, device.isPushable else { return }
    try await store.write { transaction in
      try settlePushes(to: device, confirmed: confirmed, releasing: releasing, transaction)
    }
  }
}
