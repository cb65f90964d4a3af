internal import MsgrMessages
internal import Threading

/// The open streams, keyed by user, device and token, and the one place that wakes and ends them.
final class StreamHub: Sendable {
  private typealias Streams = [ObjectIdentifier: MessageStream]

  private struct State {
    var byName: [UserName: Streams] = [:]
    var byToken: [TokenHash: Streams] = [:]
    var byDevice: [DeviceID: Streams] = [:]
  }

  private let state = Lock(State())

  /// Adds a stream, which the hub holds until it is removed.
  func add(_ stream: MessageStream) {
    let token = stream.token
    state.withLock { state in
      state.byName[token.name, default: [:]][ObjectIdentifier(stream)] = stream
      state.byToken[token.hash, default: [:]][ObjectIdentifier(stream)] = stream
      state.byDevice[token.device, default: [:]][ObjectIdentifier(stream)] = stream
    }
  }

  /// Removes a stream.
  func remove(_ stream: MessageStream) {
    state.withLock { state in
      Self.remove(stream, of: stream.token.name, from: &state.byName)
      Self.remove(stream, of: stream.token.hash, from: &state.byToken)
      Self.remove(stream, of: stream.token.device, from: &state.byDevice)
    }
  }

  private static func remove<Key>(
    _ stream: MessageStream, of key: Key, from streams: inout [Key: Streams]
  ) {
    streams[key]?[ObjectIdentifier(stream)] = nil
    if streams[key]?.isEmpty == true { streams[key] = nil }
  }

  /// Tells a user's streams that there is news.
  func wake(_ name: UserName) {
    let streams = state.withLock { state in state.byName[name].map { Array($0.values) } ?? [] }
    for stream in streams { stream.wake() }
  }

  /// Closes the streams whose tokens have ended.
  func end(_ tokens: [TokenHash]) {
    let streams = state.withLock { state in
      tokens.flatMap { state.byToken[$0].map { Array($0.values) } ?? [] }
    }
    for stream in streams { stream.end() }
  }

  /// Returns the devices of a user's streams, a device with several streams more than once.
  func devices(of name: UserName) -> [DeviceID] {
    state.withLock { state in state.byName[name]?.values.map(\.token.device) ?? [] }
  }

  /// Returns the message after which a device's streams bring everything, or nil if it has no stream.
  func firstStart(of device: DeviceID) -> MessageID? {
    state.withLock { $0.byDevice[device]?.values.lazy.map(\.start).min() }
  }

  /// The tokens of all streams.
  var tokens: [TokenHash] { state.withLock { Array($0.byToken.keys) } }

  /// The number of streams.
  var count: Int { state.withLock { state in state.byName.values.reduce(0) { $0 + $1.count } } }
}
