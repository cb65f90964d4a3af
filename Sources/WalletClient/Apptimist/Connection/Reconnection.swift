internal import HTTPClient

/// The decisions of a device between two connections: where it connects next, when, and whether at all.
struct Reconnection {
  /// The end of a connection, or of an attempt to make one.
  enum End {
    /// The service sent the device elsewhere.
    case redirected(WebSocketURL)
    /// The service does not let the device in.
    case refused(DeviceError)
    /// The user has opened too many sessions since.
    case crowdedOut
    /// There was no connection, or it broke.
    case broken
  }

  /// The next step.
  enum Step: Equatable {
    case giveUp(DeviceError)
    case connect(WebSocketURL, after: Duration)
  }

  /// The pause after too many redirections or sessions.
  private static let longPause = Duration.seconds(60)

  private let home: WebSocketURL
  private let longestDelay: Duration
  private var backoff: Backoff
  private var redirections = Redirections()
  private var refusals = 0
  private var wasEverEstablished = false

  /// Makes the decisions for a service, to whose own address the device returns when another fails.
  init(_ home: WebSocketURL, _ options: DeviceOptions) {
    self.home = home
    longestDelay = options.longestRetryDelay
    backoff = Backoff(options)
  }

  /// Returns the address of a redirection, or nil if it isn't followed.
  mutating func follow(
    _ text: String, from current: WebSocketURL, at now: ContinuousClock.Instant
  ) -> WebSocketURL? { redirections.follow(text, from: current, at: now) }

  /// Decides on the next step.
  ///
  /// - Parameters:
  ///   - end: the end of the last connection.
  ///   - wasEstablished: whether the service had let the device in.
  ///   - duration: the time from the attempt on.
  ///   - now: the time.
  mutating func next(
    after end: End, wasEstablished: Bool, lasting duration: Duration,
    at now: ContinuousClock.Instant
  ) -> Step {
    wasEverEstablished = wasEverEstablished || wasEstablished
    if wasEstablished, duration >= longestDelay { backoff.reset() }
    if case .refused = end { refusals += 1 } else { refusals = 0 }
    switch end {
    // A service that let the device in before may have met a moment of trouble.
    case .refused(let error) where refusals > (wasEverEstablished ? 2 : 0): return .giveUp(error)
    case .redirected(let target):
      if redirections.areTooMany(at: now) { return .connect(target, after: Self.longPause) }
      let isSteady = wasEstablished && duration >= .seconds(1)
      return .connect(target, after: isSteady ? .zero : backoff.next())
    case .crowdedOut: return .connect(home, after: Self.longPause)
    case .refused, .broken: return .connect(home, after: backoff.next())
    }
  }
}

/// The pauses between attempts to connect, each longer than the last, and never the same for all devices.
struct Backoff {
  private let shortest: Duration
  private let longest: Duration
  private var attempts = 0

  init(_ options: DeviceOptions) {
    shortest = options.retryDelay
    longest = options.longestRetryDelay
  }

  /// Returns the next pause, which lies between one half and the whole of a duration that doubles with each attempt.
  mutating func next(_ random: (ClosedRange<Double>) -> Double = { .random(in: $0) }) -> Duration {
    let whole = min(longest, shortest * Double(1 << min(attempts, 20)))
    attempts += 1
    return whole * random(0.5...1)
  }

  /// Begins with short pauses again, after a connection that was good.
  mutating func reset() { attempts = 0 }
}

/// The redirections that a device follows: the service's word is genuine, but TLS is not given up for it.
struct Redirections {
  /// The most redirections in ``period``.
  private static let most = 5
  /// The longest address, in bytes.
  private static let longest = 2_048
  /// The time in which they are counted.
  private static let period = Duration.seconds(60)

  private var moments: [ContinuousClock.Instant] = []

  /// Checks and counts an address that the service redirects the device to.
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
