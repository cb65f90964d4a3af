internal import Cryptography
internal import FoundationEssentials
internal import Observability
internal import Threading
internal import Time

/// The tokens that tell Apple who pushes: JSON Web Tokens (RFC 7519) signed with ES256.
///
/// Apple takes one for an hour, and not more than one in 20 minutes.
final class ProviderTokens: Sendable {
  /// How long a token is used, in milliseconds.
  private static let lifetime: Int64 = 45 * 60_000
  /// How old a token must be to be replaced because it was called expired: pushes that were under
  /// way with the one before it come to hear that late.
  private static let settlingTime: Int64 = 60_000

  private let key: ES256Key
  private let keyID: String
  private let teamID: String
  private let clock: @Sendable () -> Timestamp
  private let current = Lock<(text: String, issued: Int64)?>(nil)

  /// Tokens of a team.
  ///
  /// - Parameters:
  ///   - key: the key that Apple knows.
  ///   - keyID: its name, letters and digits.
  ///   - teamID: the team's name, letters and digits.
  ///   - clock: tells the time.
  init(key: ES256Key, keyID: String, teamID: String, clock: @escaping @Sendable () -> Timestamp) {
    self.key = key
    self.keyID = keyID
    self.teamID = teamID
    self.clock = clock
  }

  /// A token that is good now; nil if OpenSSL can't sign.
  var token: String? {
    let now = clock().milliseconds
    return current.withLock { current in
      if let current, 0..<Self.lifetime ~= now - current.issued { return current.text }
      current = make(at: now).map { ($0, now) }
      return current?.text
    }
  }

  /// Replaces the token, unless that is quite new.
  func refresh() {
    let now = clock().milliseconds
    current.withLock { current in
      guard let issued = current?.issued, 0..<Self.settlingTime ~= now - issued else {
        current = nil
        return
      }
    }
  }

  private func make(at now: Int64) -> String? {
    let head = Self.encoded(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
    let claims = Self.encoded(Array(#"{"iss":"\#(teamID)","iat":\#(now / 1000)}"#.utf8))
    let signature = key.sign(Array("\(head).\(claims)".utf8))
    return signature.map { "\(head).\(claims).\(Self.encoded($0))" }
  }

  /// Base64 for URLs, without padding (RFC 4648 section 5).
  private static func encoded(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }
}
