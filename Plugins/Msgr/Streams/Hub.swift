internal import Threading

/// Tells streams what concerns them: the one place that knows who listens, keyed by user.
final class Hub: Sendable {
  /// An open stream, as others see it.
  struct Listener: Sendable {
    let identity: Identity
    let token: TokenHash
    /// The message that it began behind.
    let start: MessageID
    /// Tells it that its user's inbox has news; from any thread.
    let wake: @Sendable () -> Void
    /// Closes it because its token has ended; from any thread.
    let end: @Sendable () -> Void
  }

  /// What a listener is known by.
  struct ListenerID: Hashable, Sendable {
    fileprivate let number: Int
    fileprivate let name: UserName
  }

  private struct State {
    var lastNumber = 0
    var listeners: [UserName: [Int: Listener]] = [:]
    var byToken: [TokenHash: [Int: Listener]] = [:]
    /// Where the streams of each device began.
    var devices: [DeviceID: [Int: MessageID]] = [:]
  }

  private let state = Lock(State())

  /// Adds a stream.
  func add(_ listener: Listener) -> ListenerID {
    state.withLock { state in
      state.lastNumber += 1
      let name = listener.identity.name
      state.listeners[name, default: [:]][state.lastNumber] = listener
      state.byToken[listener.token, default: [:]][state.lastNumber] = listener
      if let device = listener.identity.device {
        state.devices[device, default: [:]][state.lastNumber] = listener.start
      }
      return ListenerID(number: state.lastNumber, name: name)
    }
  }

  /// Forgets a stream.
  func remove(_ id: ListenerID) {
    state.withLock { state in
      guard let listener = state.listeners[id.name]?.removeValue(forKey: id.number) else { return }
      if state.listeners[id.name]?.isEmpty == true { state.listeners[id.name] = nil }
      state.byToken[listener.token]?[id.number] = nil
      if state.byToken[listener.token]?.isEmpty == true { state.byToken[listener.token] = nil }
      guard let device = listener.identity.device else { return }
      state.devices[device]?[id.number] = nil
      if state.devices[device]?.isEmpty == true { state.devices[device] = nil }
    }
  }

  /// Tells a user's streams that there is something new.
  func wake(_ name: UserName) {
    let listeners = state.withLock { state in
      state.listeners[name].map { Array($0.values) } ?? []
    }
    for listener in listeners { listener.wake() }
  }

  /// Closes the streams whose tokens have ended.
  func end(_ tokens: [TokenHash]) {
    let listeners = state.withLock { state in
      tokens.flatMap { state.byToken[$0].map { Array($0.values) } ?? [] }
    }
    for listener in listeners { listener.end() }
  }

  /// Whether a device has a stream.
  func isStreaming(_ device: DeviceID) -> Bool { firstStart(of: device) != nil }

  /// The message behind which a device's streams bring everything; nil: it has none.
  func firstStart(of device: DeviceID) -> MessageID? {
    state.withLock { $0.devices[device]?.values.min() }
  }

  /// The tokens of all streams.
  var tokens: [TokenHash] { state.withLock { Array($0.byToken.keys) } }

  /// How many streams there are.
  var count: Int { state.withLock { state in state.listeners.values.reduce(0) { $0 + $1.count } } }
}
