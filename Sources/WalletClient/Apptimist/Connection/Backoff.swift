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
