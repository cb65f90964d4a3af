internal import JSONWebTokens
internal import Observability
internal import Threading
internal import Time

/// The tokens that tell Apple who pushes: JSON Web Tokens (RFC 7519) signed with ES256.
///
/// Apple takes one for an hour, and not more than one in 20 minutes.
final class ProviderTokens: Sendable {
  /// The time for which a token is used.
  private static let lifetime = Duration.seconds(45 * 60)
  /// The age that a token must have to be replaced because it was called expired, as pushes that were under way with the
  /// token before it hear of that late.
  private static let settlingTime = Duration.seconds(60)

  private let key: SigningKey
  private let keyID: String
  private let teamID: String
  private let clock: @Sendable () -> Timestamp
  private let current = Lock<(text: String, issued: Timestamp)?>(nil)

  /// Makes tokens of a team.
  ///
  /// - Parameters:
  ///   - key: the key that Apple knows.
  ///   - keyID: its name, letters and digits.
  ///   - teamID: the team's name, letters and digits.
  ///   - clock: tells the time.
  init(key: SigningKey, keyID: String, teamID: String, clock: @escaping @Sendable () -> Timestamp) {
    self.key = key
    self.keyID = keyID
    self.teamID = teamID
    self.clock = clock
  }

  /// A token that is good now, or nil if it can't be signed.
  var token: String? {
    let now = clock()
    return current.withLock { current in
      if let current, (.zero..<Self.lifetime).contains(current.issued.duration(to: now)) {
        return current.text
      }
      current = make(at: now).map { ($0, now) }
      return current?.text
    }
  }

  /// Replaces the token unless it is quite new.
  func refresh() {
    let now = clock()
    current.withLock { current in
      if let issued = current?.issued,
        !(.zero..<Self.settlingTime).contains(issued.duration(to: now))
      {
        current = nil
      }
    }
  }

  private func make(at now: Timestamp) -> String? {
    key.token(#"{"iss":"\#(teamID)","iat":\#(now.seconds)}"#, header: ["kid": keyID])
  }
}
