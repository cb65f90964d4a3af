internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import Transport

/// The forms of ntfy's streams over HTTP.
enum NtfyStreamForm: Sendable {
  case json
  case sse
  case raw

  var contentType: String {
    switch self {
    case .json: "application/x-ndjson; charset=utf-8"
    case .sse: "text/event-stream; charset=utf-8"
    case .raw: "text/plain; charset=utf-8"
    }
  }
}

/// Writes entries in the form that a reader has asked for.
struct NtfyStreamEncoder: Sendable {
  private let list: String
  private let form: NtfyStreamForm
  /// True for an app that stores every entry as a notification, whatever its event.
  private let knowsMessagesOnly: Bool

  init(_ request: NtfyReadRequest, form: NtfyStreamForm, agent: String?) {
    list = request.list
    self.form = form
    let agent = agent ?? ""
    knowsMessagesOnly = agent.hasPrefix("ntfy/") && agent.contains("iOS")
  }

  /// Returns an entry as bytes; none if the reader doesn't want it.
  func bytes(_ entry: TopicEntry) -> [UInt8] {
    guard entry.event == .message || !knowsMessagesOnly else { return [] }
    switch form {
    case .json: return Array("\(NtfyMessage.json(of: entry))\n".utf8)
    case .sse:
      let event =
        entry.event == .message ? "" : "event: \(NtfyMessage.name(of: entry.event))\n"
      return Array("\(event)data: \(NtfyMessage.json(of: entry))\n\n".utf8)
    case .raw: return Array("\(entry.event == .message ? Self.oneLine(entry.text) : "")\n".utf8)
    }
  }

  /// Returns a sign of the stream's own.
  func bytes(_ sign: NtfyMessage.Sign, _ topics: TopicService) -> [UInt8] {
    switch form {
    case .json: return Array("\(json(sign, topics))\n".utf8)
    case .sse:
      return Array("event: \(sign.rawValue)\ndata: \(json(sign, topics))\n\n".utf8)
    case .raw: return Array("\n".utf8)
    }
  }

  /// Returns an entry as a text message of a WebSocket; nil if the reader doesn't want it.
  func text(_ entry: TopicEntry) -> [UInt8]? {
    guard entry.event == .message || !knowsMessagesOnly else { return nil }
    return Array(NtfyMessage.json(of: entry).utf8)
  }

  func text(_ sign: NtfyMessage.Sign, _ topics: TopicService) -> [UInt8] {
    Array(json(sign, topics).utf8)
  }

  private func json(_ sign: NtfyMessage.Sign, _ topics: TopicService) -> String {
    NtfyMessage.json(of: sign, id: topics.makeID(), time: topics.now.seconds, topics: list)
  }

  private static func oneLine(_ text: String) -> String {
    text.replacing("\r\n", with: " ").replacing("\n", with: " ").replacing("\r", with: " ")
  }
}

/// The body of a stream over HTTP, made as the client takes it.
final class NtfyStreamOutput: Sendable {
  private let lease: TopicStreamLease
  private let encoder: NtfyStreamEncoder
  private let topics: TopicService
  private let opening: Lock<[UInt8]?>

  init(
    _ lease: TopicStreamLease, _ encoder: NtfyStreamEncoder, _ topics: TopicService,
    opening: [UInt8]
  ) {
    self.lease = lease
    self.encoder = encoder
    self.topics = topics
    self.opening = Lock(opening)
  }

  func next() async -> [UInt8]? {
    if let opening = opening.withLock({ $0.take() }) { return opening }
    while let item = await lease.stream.next() {
      let bytes =
        switch item {
        case .entry(let entry): encoder.bytes(entry)
        case .keepalive: encoder.bytes(.keepalive, topics)
        }
      if !bytes.isEmpty { return bytes }
    }
    return nil
  }
}

/// A stream over a WebSocket, whose signs of life are pings.
///
/// Unchecked because its variables are touched on its session's event loop only.
final class NtfySocket: WebSocketHandler, @unchecked Sendable {
  private static let lowWaterMark = 64 << 10

  private let session: WebSocketSession
  private let encoder: NtfyStreamEncoder
  private let stream: TopicStream
  private var lease: TopicStreamLease?

  init(
    _ session: WebSocketSession, _ lease: TopicStreamLease, _ encoder: NtfyStreamEncoder,
    _ topics: TopicService
  ) {
    self.session = session
    self.lease = lease
    self.encoder = encoder
    stream = lease.stream
    session.send(.text(encoder.text(.open, topics)))
    stream.begin { [weak self] in self?.wake() }
  }

  private func wake() { session.loop.execute { [self] in pump() } }

  private func pump() {
    guard lease != nil else { return }
    while session.backlog <= Self.lowWaterMark, let item = stream.nextWaiting() {
      if case .entry(let entry) = item, let text = encoder.text(entry) { session.send(.text(text)) }
    }
    if stream.isOver { session.close(1008, reason: "the right to read has ended") }
  }

  func drained() { pump() }

  func received(_ message: WebSocketMessage) {}

  func closed(_ code: UInt16?) {
    lease = nil
    stream.end()
  }
}
