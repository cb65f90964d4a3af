internal import Storage

extension MsgrStore {
  /// Notes what a stream has delivered.
  ///
  /// - Parameters:
  ///   - progress: how far it has come.
  ///   - identity: whose stream it is.
  ///   - isOver: whether the stream is over, so that what it leaves is pushed now.
  ///   - streaming: the message behind which a device's other streams bring everything; nil: it has
  ///     none. Asked within the transaction: the device may be back already.
  func settle(
    _ progress: StreamProgress, of identity: Identity, isOver: Bool,
    streaming: @escaping @Sendable (DeviceID) -> MessageID?
  ) async throws {
    if progress.streamed > progress.start {
      try await noteSeen(upTo: progress.streamed, by: identity.name)
    }
    guard let device = identity.device, device.isPushable else { return }
    try await store.write { transaction in
      try settlePushes(
        to: device, after: progress.start, confirmed: progress.confirmed,
        releasedTo: isOver ? streaming(device) ?? .last : nil, transaction)
    }
  }
}
