/// A push service that messages are handed to.
protocol PushProvider: Sendable {
  /// What its word on devices holds for; once it has taken a push, it is known to be the right one.
  var target: String { get }

  /// Tries once to push.
  func push(_ push: Push) async -> PushOutcome

  /// Replaces credentials that it has called expired.
  func refreshCredentials()
}

extension PushProvider {
  /// Does nothing: there are no credentials that expire.
  func refreshCredentials() {}
}
