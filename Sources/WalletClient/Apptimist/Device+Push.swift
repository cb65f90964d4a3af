public import ApptimistProtocol

extension Device {
  /// Has the service wake this device by a push, when something comes while it sleeps, or no more.
  ///
  /// An app calls it at every start, as Apple and Google ask for tokens, and acknowledges by ``stored(_:)`` what it has dealt
  /// with: a device that is connected and acknowledges isn't woken. What a wake starts uses the same `installation`.
  ///
  /// - Parameter binding: the address, which takes the place of the former one, or nil for none.
  /// - Throws: `.service(.noSuchType)` if the service pushes nothing there, and the app does without; `.service(.badField)`,
  ///   `.service(.overQuota)` after too many changes.
  public func wake(at binding: Version2.PushBinding?) async throws(DeviceError) {
    _ = try await ask(.push(binding))
  }
}
