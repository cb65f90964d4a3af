internal import Cryptography
internal import JSONWebTokens
internal import MsgrProtocol
internal import Time

/// The tokens that tell a push service who pushes (RFC 8292): one for each origin, renewed an hour before its end.
final class VAPIDTokens: Sendable {
  private static let lifetime = Duration.seconds(12 * 3600)
  private static let renewal = Duration.seconds(3600)

  private let key: SigningKey
  private let publicKey: String
  private let contact: String?
  private let clock: @Sendable () -> Timestamp
  private let tokens = RecentValues<String, (token: String, end: Timestamp)>(limit: 1024)

  /// Makes tokens of a key.
  ///
  /// - Parameters:
  ///   - pair: the key that subscriptions are bound to.
  ///   - contact: a `mailto:` or `https:` URL for the push service's operator, or nil.
  ///   - clock: tells the time.
  /// - Returns: nil if OpenSSL can't use the key.
  init?(_ pair: P256KeyPair, contact: String?, clock: @escaping @Sendable () -> Timestamp) {
    guard let key = SigningKey(pair) else { return nil }
    self.key = key
    publicKey = Base64URL.encode(pair.publicKey.bytes)
    self.contact = contact
    self.clock = clock
  }

  /// Returns the value of `Authorization` for a push service, or nil if no token can be signed.
  ///
  /// - Parameter origin: the push service's origin.
  func authorization(for origin: String) -> String? {
    let now = clock()
    var token = tokens.value(for: origin)
    // Made anew as well if the clock was set back.
    if token.map({ $0.end <= now + Self.renewal || $0.end > now + Self.lifetime }) ?? true {
      token = make(for: origin, at: now)
      if let token { tokens.insert(token, for: origin) }
    }
    // Without a blank behind the comma, which some push services don't expect there.
    return token.map { "vapid t=\($0.token),k=\(publicKey)" }
  }

  private func make(for origin: String, at now: Timestamp) -> (token: String, end: Timestamp)? {
    let end = now + Self.lifetime
    let subject = contact.map { #","sub":"\#($0.escapedInJSON)""# } ?? ""
    let claims = #"{"aud":"\#(origin.escapedInJSON)","exp":\#(end.seconds)\#(subject)}"#
    return key.token(claims, header: ["typ": "JWT"]).map { ($0, end) }
  }
}
