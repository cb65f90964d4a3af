/// A push service that messages are handed to.
protocol PushProvider: Sendable {
  /// The service and topic that its word on devices holds for, known to be right once it has taken a push.
  var target: String { get }

  /// Tries once to push.
  ///
  /// - Parameters:
  ///   - push: the push.
  ///   - payload: its content, which the service has made.
  func push(_ push: Push, _ payload: PushPayload) async -> PushOutcome

  /// Replaces credentials that the service has called expired.
  func refreshCredentials()

  /// Reads credentials again that may be others by now. If they are faulty, the former ones stay.
  func reload() async throws
}

extension PushProvider {
  /// Does nothing, as no credentials expire.
  func refreshCredentials() {}

  /// Does nothing, as the credentials are read once.
  func reload() async throws {}
}
