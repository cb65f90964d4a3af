/// A push service that messages are handed to.
protocol PushProvider: Sendable {
  /// The service and topic that its word on devices holds for, known to be right once it has taken a push.
  var target: String { get }

  /// Tries once to push.
  func push(_ push: Push) async -> PushOutcome

  /// Replaces credentials that the service has called expired.
  func refreshCredentials()
}

extension PushProvider {
  /// Does nothing, as no credentials expire.
  func refreshCredentials() {}
}
