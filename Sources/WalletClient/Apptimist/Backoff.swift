/// How long to wait before the next attempt: longer each time, and never the same for all devices.
struct Backoff {
  private let shortest: Duration
  private let longest: Duration
  private var attempts = 0

  init(_ options: DeviceOptions) {
    shortest = options.retryDelay
    longest = options.longestRetryDelay
  }

  /// The next pause: between half of what has doubled with every attempt, and the whole.
  mutating func next(_ random: (ClosedRange<Double>) -> Double = { .random(in: $0) }) -> Duration {
    let whole = min(longest, shortest * Double(1 << min(attempts, 20)))
    attempts += 1
    return whole * random(0.5...1)
  }

  /// A connection was good: the next pause is a short one.
  mutating func reset() { attempts = 0 }
}
