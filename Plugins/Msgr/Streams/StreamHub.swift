internal import MsgrMessages
internal import Threading

/// The open streams, keyed by user, device and token, and the one place that wakes and ends them.
final class StreamHub: Sendable {
  /// An open stream.
  struct Listener: Sendable {
    let token: BoundToken
    /// The message after which the stream began.
    let start: MessageID
    /// Tells the stream, from any thread, that its user's inbox has news.
    let wake: @Sendable () -> Void
    /// Closes the stream, from any thread, because its token has ended.
    let end: @Sendable () -> Void
  }

  /// The identity of a listener.
  struct ListenerID: Hashable, Sendable {
    fileprivate let number: Int
    fileprivate let name: UserName
  }

  private struct State {
    var lastNumber = 0
    var listeners: [UserName: [Int: Listener]] = [:]
    var byToken: [TokenHash: [Int: Listener]] = [:]
    /// The messages after which the streams of each device began.
    var starts: [DeviceID: [Int: MessageID]] = [:]
  }

  private let state = Lock(State())

  /// Adds a stream.
  func add(_ listener: Listener) -> ListenerID {
    state.withLock { state in
      state.lastNumber += 1
      let token = listener.token
      state.listeners[token.name, default: [:]][state.lastNumber] = listener
      state.byToken[token.hash, default: [:]][state.lastNumber] = listener
      state.starts[token.device, default: [:]][state.lastNumber] = listener.start
      return ListenerID(number: state.lastNumber, name: token.name)
    }
  }

  /// Removes a stream.
  func remove(_ id: ListenerID) {
    state.withLock { state in
      guard let token = state.listeners[id.name]?.removeValue(forKey: id.number)?.token else {
        return
      }
      if state.listeners[id.name]?.isEmpty == true { state.listeners[id.name] = nil }
      state.byToken[token.hash]?[id.number] = nil
      if state.byToken[token.hash]?.isEmpty == true { state.byToken[token.hash] = nil }
      state.starts[token.device]?[id.number] = nil
      if state.starts[token.device]?.isEmpty == true { state.starts[token.device] = nil }
    }
  }

  /// Tells a user's streams that there is news.
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

  /// Returns the devices of a user's streams, a device with several streams more than once.
  func devices(of name: UserName) -> [DeviceID] {
    state.withLock { state in state.listeners[name]?.values.map(\.token.device) ?? [] }
  }

  /// Returns the message after which a device's streams bring everything, or nil if it has no stream.
  func firstStart(of device: DeviceID) -> MessageID? {
    state.withLock { $0.starts[device]?.values.min() }
  }

  /// The tokens of all streams.
  var tokens: [TokenHash] { state.withLock { Array($0.byToken.keys) } }

  /// The number of streams.
  var count: Int { state.withLock { state in state.listeners.values.reduce(0) { $0 + $1.count } } }
}
