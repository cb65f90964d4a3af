internal import HTTPProtocol
internal import Transport

/// One request and its answer on an HTTP/2 connection.
final class HTTP2Stream {
  enum State {
    /// Header fields come.
    case head
    /// A body comes.
    case body
    /// A task answers.
    case answering
    /// The answer is given to nghttp2; what may still come of the request is dropped.
    case answered
  }

  let id: Int32
  var state = State.head
  var collector: RequestHeadCollector
  /// The request, once its head is complete.
  var exchange: (head: RequestHead, plan: RequestPlan)?
  var body: [UInt8] = []
  var bodyLimit = 0
  /// How many bytes of body memory are reserved.
  var reserved = 0
  /// Measures how fast the body comes.
  var bodyWindow: RateWindow
  /// Until when the rest of the request may come, once the answer has been sent before it; in milliseconds.
  var lingerDeadline: Int64?
  /// The body of the answer, and how much of it has been sent.
  var payload = Response.Body.none
  var offset = 0

  init(_ id: Int32, limits: RequestParser.Limits, now: Int64) {
    self.id = id
    collector = RequestHeadCollector(limits: limits)
    bodyWindow = RateWindow(now: now)
  }

  var isHead: Bool { exchange?.head.method == .head }

  /// Bytes of the answer that wait to be sent.
  var remaining: Int { payload.count - offset }

  /// Appends the next bytes of the answer.
  func takePayload(_ count: Int, into output: inout [UInt8]) {
    switch payload {
    case .none: break
    case .array(let array): output.append(contentsOf: array[offset..<offset + count])
    case .bytes(let bytes):
      let piece = unsafe UnsafeRawBufferPointer(rebasing: bytes.buffer[offset..<offset + count])
      unsafe output.append(contentsOf: piece)
    }
    offset += count
  }
}
