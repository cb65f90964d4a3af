/// The flow of a device's message stream: how much of it waits to be taken, and why it is paused.
struct StreamFlow {
  private struct PauseReasons: OptionSet {
    let rawValue: UInt8

    /// Too much waits to be taken.
    static let full = PauseReasons(rawValue: 1)
    /// The app asked for it.
    static let requested = PauseReasons(rawValue: 2)
  }

  /// The bytes that may wait before the service is told to pause.
  private let limit: Int
  private var buffered = 0
  private var reasons: PauseReasons = []

  init(limit: Int) { self.limit = limit }

  /// True if the stream is paused.
  var isPaused: Bool { !reasons.isEmpty }

  /// True if the service goes on sending although it was told to pause; then nothing more is read.
  var isOverfull: Bool { buffered > limit * 16 }

  /// Counts an entry that came.
  ///
  /// - Returns: whether the stream is to pause or to go on, or nil if nothing changes.
  mutating func came(_ entry: StreamEntry) -> Bool? {
    buffered += Self.cost(entry)
    return buffered > limit ? set(.full, true) : nil
  }

  /// Counts an entry that the app took.
  ///
  /// - Returns: whether the stream is to pause or to go on, or nil if nothing changes.
  mutating func consumed(_ entry: StreamEntry) -> Bool? {
    buffered -= Self.cost(entry)
    return buffered <= limit / 2 ? set(.full, false) : nil
  }

  /// Notes whether the app wants the stream to pause.
  ///
  /// - Returns: whether the stream is to pause or to go on, or nil if nothing changes.
  mutating func setPaused(_ isPaused: Bool) -> Bool? { set(.requested, isPaused) }

  private mutating func set(_ reason: PauseReasons, _ holds: Bool) -> Bool? {
    let wasPaused = isPaused
    if holds { reasons.insert(reason) } else { reasons.remove(reason) }
    guard isPaused != wasPaused else { return nil }
    return isPaused
  }

  private static func cost(_ entry: StreamEntry) -> Int {
    switch entry {
    case .message(let message): message.box.count + 256
    case .truncation, .gap: 64
    }
  }
}
