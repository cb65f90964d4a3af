import Storage

extension MsgrStore {
  /// Notes what a stream has delivered.
  ///
  /// - Parameters:
  ///   - progress: how far it has come.
  ///   - identity: whose stream it is.
  ///   - releasing: whether the device streams no more, so that what is left is pushed now.
  func settle(
    _ progress: StreamProgress, of identity: Identity, releasing: Bool
  ) async throws {
    if progress.streamed > progress.start {
      try await noteSeen(upTo: progress.streamed, by: identity.name)
    }
    guard let device = identity.device, device.isPushable else { return }
    try await store.write { transaction in
      try settlePushes(
        to: device, after: progress.start, confirmed: progress.confirmed, releasing: releasing,
        transaction)
    }
  }
}
