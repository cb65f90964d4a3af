internal import Addresses
internal import HTTPProtocol
internal import Transport
internal import Wire

/// One request and its response on an HTTP/2 connection.
final class HTTP2Stream {
  enum State {
    /// Header fields come.
    case head
    /// A body comes.
    case body
    /// The request is whole, but not begun: the peer has to take earlier responses first.
    case waiting
    /// A handler's task runs.
    case responding
    /// The response is given to nghttp2; what may still come of the request is dropped.
    case responded
  }

  /// The memory that an open stream takes besides what it holds, here and in nghttp2, in bytes.
  static let overhead = 1 << 10

  let id: Int32
  var state = State.head
  var collector: RequestHeadCollector
  /// The request, from the end of its head until it is given to a handler or refused.
  var exchange: (head: RequestHead, origin: RequestOrigin, plan: RequestPlan)?
  var body: [UInt8] = []
  var bodyLimit = 0
  /// The memory of the client whose request this is.
  var memory: MemoryCharge
  /// The part of ``overhead`` that is charged.
  var chargedOverhead = 0
  /// The client for whom the request is counted as one in progress.
  var counted: ClientNetwork?
  /// Measures how fast the body comes.
  var bodyWindow: RateWindow
  /// The moment by which the rest of the request must come, once the response has been sent before it.
  var lingerDeadline: Int64?
  /// Whether the response is to have no body.
  var isHead = false
  /// The body of the response, and the number of its bytes that were sent.
  var payload = Response.Body.none
  var offset = 0
  /// Whether the response is counted as one that isn't sent whole.
  var isCounted = false
  /// Whether further pieces of the body are to come, and what makes them while it waits until the last one is sent.
  var hasPieces = false
  var piecesWait: CheckedContinuation<Bool, Never>?

  init(_ id: Int32, memory: MemoryCharge, limits: RequestParser.Limits, now: Int64) {
    self.id = id
    self.memory = memory
    collector = RequestHeadCollector(limits: limits)
    bodyWindow = RateWindow(now: now)
  }

  /// The memory that the request takes, in bytes.
  var held: Int { (exchange?.head.size ?? 0) + body.count }

  /// The number of bytes of the response that wait to be sent.
  var remaining: Int { payload.count - offset }

  /// Appends the next bytes of the response.
  func takePayload(_ count: Int, into output: inout [UInt8]) {
    switch payload {
    case .none, .pieces: break
    case .array(let array): output.append(contentsOf: array[offset..<offset + count])
    case .bytes(let bytes):
      let piece = unsafe UnsafeRawBufferPointer(rebasing: bytes.buffer[offset..<offset + count])
      unsafe output.append(contentsOf: piece)
    }
    offset += count
  }
}
