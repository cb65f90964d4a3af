internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import Transport

/// The forms of ntfy's streams.
enum NtfyStreamForm: Int, Sendable {
  case json
  case sse
  case raw
  case webSocket

  /// The type of a stream over HTTP.
  var contentType: String? {
    switch self {
    case .json: "application/x-ndjson; charset=utf-8"
    case .sse: "text/event-stream; charset=utf-8"
    case .raw: "text/plain; charset=utf-8"
    case .webSocket: nil
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
  func bytes(_ entry: TopicEntry) -> [UInt8] { wants(entry) ? form.bytes(of: entry) : [] }

  /// Returns an entry as the bytes that all readers of the form get; none if the reader doesn't want it.
  func bytes(_ streamed: StreamedTopicEntry) -> [UInt8] {
    guard wants(streamed.entry) else { return [] }
    return streamed.bytes(in: form.rawValue, form.bytes)
  }

  private func wants(_ entry: TopicEntry) -> Bool { entry.event == .message || !knowsMessagesOnly }

  /// Returns a sign of the stream's own.
  func bytes(_ sign: NtfyMessage.Sign, _ topics: TopicService) -> [UInt8] {
    let json = NtfyMessage.json(
      of: sign, id: topics.makeID(), time: topics.now.seconds, topics: list)
    return form.bytes(event: sign.rawValue, json: json, text: "")
  }
}

extension NtfyStreamForm {
  fileprivate func bytes(of entry: TopicEntry) -> [UInt8] {
    let isMessage = entry.event == .message
    return bytes(
      event: isMessage ? nil : NtfyMessage.name(of: entry.event), json: NtfyMessage.json(of: entry),
      text: isMessage ? entry.text : "")
  }

  /// Returns an entry or a sign.
  ///
  /// - Parameter event: the name of what isn't a message.
  fileprivate func bytes(event: String?, json: @autoclosure () -> String, text: String) -> [UInt8] {
    switch self {
    case .json: Array("\(json())\n".utf8)
    case .sse: Array("\(event.map { "event: \($0)\n" } ?? "")data: \(json())\n\n".utf8)
    case .raw: Self.oneLine(text)
    case .webSocket: Array(json().utf8)
    }
  }

  /// Returns a text as a line, with a blank for each line break: byte by byte, as characters take fifty times as long.
  private static func oneLine(_ text: String) -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(text.utf8.count + 1)
    var isBehindReturn = false
    for byte in text.utf8 {
      let isReturn = byte == UInt8(ascii: "\r")
      let isBreak = byte == UInt8(ascii: "\n")
      if !isReturn, !isBreak {
        line.append(byte)
      } else if !(isBreak && isBehindReturn) {
        line.append(UInt8(ascii: " "))
      }
      isBehindReturn = isReturn
    }
    line.append(UInt8(ascii: "\n"))
    return line
  }
}

/// A stream over HTTP: entries as they come, and a sign of life where nothing has come for a time.
final class NtfyBody: ResponseStreamHandler, TopicStreamConnection {
  private let output: any ResponseStream
  private let encoder: NtfyStreamEncoder
  private let topics: TopicService
  private var stream: TopicStream?

  init(
    _ output: any ResponseStream, _ start: TopicStreamStart, _ encoder: NtfyStreamEncoder,
    _ topics: TopicService
  ) {
    self.output = output
    self.encoder = encoder
    self.topics = topics
    write(encoder.bytes(.open, topics))
    stream = TopicStream(start, of: topics, to: self)
  }

  private func write(_ bytes: [UInt8]) {
    output.send(bytes)
    output.setTimer(after: topics.configuration.keepalive)
  }

  // MARK: - The connection

  var loop: EventLoop { output.loop }

  var backlog: Int { output.backlog }

  func send(_ entry: StreamedTopicEntry) {
    let bytes = encoder.bytes(entry)
    if !bytes.isEmpty { write(bytes) }
  }

  func end(_ reason: TopicStreamEnd) { output.end() }

  // MARK: - The response

  func drained() { stream?.drained() }

  func timerFired() {
    // A client that has something to read knows that the server is there.
    write(output.backlog == 0 ? encoder.bytes(.keepalive, topics) : [])
  }

  func closed() { stream.take()?.closed() }
}

/// A stream over a WebSocket, whose signs of life are pings.
final class NtfySocket: WebSocketHandler, TopicStreamConnection {
  private let session: WebSocketSession
  private let encoder: NtfyStreamEncoder
  private var stream: TopicStream?

  init(
    _ session: WebSocketSession, _ start: TopicStreamStart, _ encoder: NtfyStreamEncoder,
    _ topics: TopicService
  ) {
    self.session = session
    self.encoder = encoder
    session.send(.text(encoder.bytes(.open, topics)))
    stream = TopicStream(start, of: topics, to: self)
  }

  var loop: EventLoop { session.loop }

  var backlog: Int { session.backlog }

  func send(_ entry: StreamedTopicEntry) {
    let text = encoder.bytes(entry)
    if !text.isEmpty { session.send(.text(text)) }
  }

  func end(_ reason: TopicStreamEnd) {
    switch reason {
    case .forbidden: session.close(1008, reason: "the right to read has ended")
    case .failed: session.close(1011)
    }
  }

  func drained() { stream?.drained() }

  func received(_ message: WebSocketMessage) {}

  func closed(_ code: UInt16?) { stream.take()?.closed() }
}

/// A poll over a WebSocket, which ends behind the last entry.
///
/// Unchecked because its variables are touched on its session's event loop only.
final class NtfyPollSocket: WebSocketHandler, @unchecked Sendable {
  private let session: WebSocketSession
  private let poll: TopicPoll
  private let topics: TopicService
  private let encoder: NtfyStreamEncoder
  private let slot: TopicSlot
  private var isReading = false
  private var isOver = false

  init(
    _ session: WebSocketSession, _ poll: TopicPoll, _ encoder: NtfyStreamEncoder,
    _ topics: TopicService, _ slot: TopicSlot
  ) {
    self.session = session
    self.poll = poll
    self.topics = topics
    self.encoder = encoder
    self.slot = slot
    readOn()
  }

  private func readOn() {
    let room = TopicStream.lowWaterMark - session.backlog
    guard !isReading, !isOver, room >= 0 else { return }
    isReading = true
    Task(executorPreference: session.loop) { [self] in
      finishRead(await topics.read(poll, upTo: room))
    }
  }

  private func finishRead(_ page: TopicPoll.Page?) {
    isReading = false
    guard !isOver else { return }
    guard let page else { return end(1011) }
    for text in page.entries.map(encoder.bytes) where !text.isEmpty { session.send(.text(text)) }
    if page.ends != nil { return end(1000) }
    readOn()
  }

  private func end(_ code: UInt16) {
    isOver = true
    session.close(code)
  }

  func drained() { readOn() }

  func received(_ message: WebSocketMessage) {}

  func closed(_ code: UInt16?) {
    isOver = true
    slot.leave()
  }
}
