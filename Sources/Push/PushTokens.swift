internal import Cryptography
internal import Platform

/// The tokens that tell a push service who pushes: JSON Web Tokens (RFC 7519) signed with ES256, one for each audience.
final class PushTokens: Sendable {
  /// The age that a token must have to be replaced because it was called expired, as pushes that were under way with the
  /// token before it hear of that late.
  private static let settlingTime = Duration.seconds(60)

  private let key: SigningKey
  private let header: [String: String]
  private let lifetime: Duration
  private let clock: @Sendable () -> Timestamp
  private let claims: @Sendable (_ audience: String, _ now: Timestamp) -> String
  private let tokens = RecentValues<String, (text: String, issued: Timestamp)>(limit: 1024)

  /// Makes tokens of a key.
  ///
  /// - Parameters:
  ///   - key: the key that the push service knows.
  ///   - header: the parameters of a token's header beside `alg`.
  ///   - lifetime: the time for which a token is used.
  ///   - claims: returns the claims of a token, in JSON.
  init(
    _ key: SigningKey, header: [String: String], lifetime: Duration,
    clock: @escaping @Sendable () -> Timestamp,
    claims: @escaping @Sendable (_ audience: String, _ now: Timestamp) -> String
  ) {
    self.key = key
    self.header = header
    self.lifetime = lifetime
    self.clock = clock
    self.claims = claims
  }

  /// Returns a token that is good now, or nil if it can't be signed.
  ///
  /// - Parameter audience: the push service's origin, or an empty text if there is one service only.
  func token(for audience: String = "") -> String? {
    let now = clock()
    if let kept = tokens.value(for: audience), Self.is(kept.issued, before: now, by: lifetime) {
      return kept.text
    }
    guard let text = key.token(claims(audience, now), header: header) else { return nil }
    // Of several that are signed at once one is used: a service may take offence at too many.
    return tokens.keep((text, now), for: audience) {
      Self.is($0.issued, before: now, by: lifetime)
    }.text
  }

  /// Has the token of the only service made anew unless it is quite new.
  func refresh() {
    let now = clock()
    tokens.remove("") { !Self.is($0.issued, before: now, by: Self.settlingTime) }
  }

  /// Returns whether less than a time has gone by since a moment; if the clock was set back, that isn't so.
  private static func `is`(_ moment: Timestamp, before now: Timestamp, by time: Duration) -> Bool {
    (.zero..<time).contains(moment.duration(to: now))
  }
}
