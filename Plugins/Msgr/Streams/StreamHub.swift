internal import MsgrProtocol
internal import Threading

/// The open streams, keyed by user, device and token, and the one place that finds and ends them.
final class StreamHub: Sendable {
  private typealias Streams = [ObjectIdentifier: MessageStream]

  private struct State {
    var feeds: [UserName: InboxFeed] = [:]
    var byToken: [TokenHash: Streams] = [:]
    var byDevice: [DeviceID: Streams] = [:]
  }

  private let limit: Int
  private let state = Lock(State())

  /// Makes a hub without streams.
  ///
  /// - Parameter limit: the most streams of an account; with one more, its oldest one is closed.
  init(streamsOfAccount limit: Int) { self.limit = limit }

  /// Adds a stream, which the hub holds until it is removed.
  ///
  /// - Parameters:
  ///   - stream: the stream.
  ///   - tail: the last message of all before the stream.
  func add(_ stream: MessageStream, tail: MessageID) {
    let token = stream.token
    let surplus = state.withLock { state -> MessageStream? in
      let feed = state.feeds[token.name] ?? InboxFeed(of: token.name, after: tail)
      state.feeds[token.name] = feed
      state.byToken[token.hash, default: [:]][ObjectIdentifier(stream)] = stream
      state.byDevice[token.device, default: [:]][ObjectIdentifier(stream)] = stream
      let surplus = feed.add(stream, limit: limit)
      // At once, as its peer may let the close handshake last.
      if let surplus { Self.remove(surplus, from: &state) }
      return surplus
    }
    surplus?.end("the account has newer streams")
  }

  /// Removes a stream, or does nothing if it was removed before.
  func remove(_ stream: MessageStream) {
    state.withLock { state in Self.remove(stream, from: &state) }
  }

  private static func remove(_ stream: MessageStream, from state: inout State) {
    let name = stream.token.name
    if let feed = state.feeds[name], !feed.remove(stream) { state.feeds[name] = nil }
    remove(stream, of: stream.token.hash, from: &state.byToken)
    remove(stream, of: stream.token.device, from: &state.byDevice)
  }

  private static func remove<Key>(
    _ stream: MessageStream, of key: Key, from streams: inout [Key: Streams]
  ) {
    streams[key]?[ObjectIdentifier(stream)] = nil
    if streams[key]?.isEmpty == true { streams[key] = nil }
  }

  /// Returns the streams of a user, or nil if there are none.
  func feed(of name: UserName) -> InboxFeed? { state.withLock { $0.feeds[name] } }

  /// Closes the streams whose tokens have ended.
  func end(_ tokens: [TokenHash]) {
    let streams = state.withLock { state in
      tokens.flatMap { state.byToken[$0].map { Array($0.values) } ?? [] }
    }
    for stream in streams { stream.end("the token has ended") }
  }

  /// Returns the devices of a user's streams, a device with several streams more than once.
  func devices(of name: UserName) -> [DeviceID] {
    feed(of: name)?.streams.map(\.token.device) ?? []
  }

  /// Returns the message after which a device's streams bring everything, or nil if it has no stream.
  func firstStart(of device: DeviceID) -> MessageID? {
    state.withLock { $0.byDevice[device]?.values.lazy.map(\.start).min() }
  }

  /// All streams.
  var streams: [MessageStream] { state.withLock { $0.byToken.values.flatMap(\.values) } }

  /// The tokens of all streams.
  var tokens: [TokenHash] { state.withLock { Array($0.byToken.keys) } }

  /// The number of streams.
  var count: Int { state.withLock { state in state.byToken.values.reduce(0) { $0 + $1.count } } }
}
