/// The useless work that an HTTP/2 peer may still give, which bounds rapid reset (CVE-2023-44487) and floods of cheap
/// frames.
///
/// It is an account in points. Frames that cost the peer less than the server take from it; time and responses that the
/// peer really took give to it. A peer that overdraws it is told `ENHANCE_YOUR_CALM` (RFC 9113 section 10.5).
struct HTTP2Allowance {
  /// A reason for which points are taken.
  enum Charge: Int {
    /// A frame that asks for nothing: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, an empty DATA, an unknown one.
    case idleFrame = 1
    /// A request that was cancelled, or could not be taken.
    case lostRequest = 4
    /// A frame that breaks the protocol, or a head beyond the limits.
    case fault = 20
  }

  /// A reason for which points are given.
  enum Credit: Int {
    /// A frame with data of a response, whose reader sends up to two WINDOW_UPDATEs for it.
    case sentData = 3
    /// A response sent whole.
    case sentResponse = 4
  }

  static let limit = 800
  /// The number of points that come back in a second.
  static let perSecond = 40

  private var points = limit
  /// The moment up to which time has been credited, in milliseconds.
  private var creditedUntil: Int64

  /// A full account.
  ///
  /// - Parameter now: the loop's clock in milliseconds.
  init(now: Int64) { creditedUntil = now }

  /// Takes points.
  ///
  /// - Returns: whether there were enough.
  mutating func charge(_ charge: Charge, now: Int64) -> Bool {
    let earned = (now - creditedUntil) * Int64(HTTP2Allowance.perSecond) / 1000
    if earned > 0 {
      creditedUntil = now
      points = min(HTTP2Allowance.limit, points + Int(clamping: earned))
    }
    points -= charge.rawValue
    return points >= 0
  }

  mutating func credit(_ credit: Credit) {
    points = min(HTTP2Allowance.limit, points + credit.rawValue)
  }
}
