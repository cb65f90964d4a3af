internal import HTTPClient

/// The redirections that a device follows: the service's word is genuine, but TLS is not given up for it.
struct Redirections {
  /// The most redirections in ``period``.
  private static let most = 5
  /// The longest address, in bytes.
  private static let longest = 2_048
  /// The time in which they are counted.
  private static let period = Duration.seconds(60)

  private var moments: [ContinuousClock.Instant] = []

  /// Takes an address that the service sends the device to.
  ///
  /// - Parameters:
  ///   - text: the address.
  ///   - current: the address of the connection.
  ///   - now: the time.
  /// - Returns: the address, or nil if it isn't followed.
  mutating func follow(
    _ text: String, from current: WebSocketURL, at now: ContinuousClock.Instant
  ) -> WebSocketURL? {
    guard text.utf8.count <= Self.longest, !text.contains(where: { "?#@".contains($0) }),
      let target = WebSocketURL(text), target.isSecure || !current.isSecure
    else { return nil }
    moments.append(now)
    return target
  }

  /// Returns whether there were too many of late.
  mutating func areTooMany(at now: ContinuousClock.Instant) -> Bool {
    moments.removeAll { $0 + Self.period < now }
    return moments.count > Self.most
  }
}
