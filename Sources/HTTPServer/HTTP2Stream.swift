internal import HTTPProtocol
internal import Transport
internal import Formats

/// One request and its response on an HTTP/2 connection.
final class HTTP2Stream {
  enum State {
    /// Header fields come.
    case head
    /// A body comes.
    case body
    /// The request is whole.
    case whole
    /// The response is given to nghttp2; what may still come of the request is dropped.
    case responded
    case closed
  }

  /// The memory of an open stream without its contents, here and in nghttp2, in bytes.
  static let overhead = 1 << 10

  let id: Int32
  var state = State.head
  var collector: RequestHeadCollector
  /// The number of bytes of the body that have come, and the measure of their rate.
  var received = 0
  var bodyWindow = RateWindow()
  /// The moment by which the rest of the request must come, once the response has been sent before it.
  var lingerDeadline: Int64?
  /// True if the response is to have no body.
  var isHead = false
  /// The body of the response, and the number of its bytes that were sent.
  var payload = Response.Body.none
  var offset = 0
  /// True if the response is counted as one that isn't sent whole.
  var isCounted = false
  /// True if further pieces of the body are to come.
  var hasPieces = false

  // The server's part, which the machine doesn't touch.

  /// The request, from the end of its head until it is given to a handler or refused.
  var exchange: Exchange?
  /// The memory of the client whose request this is, and what is charged to it; nil before the end of the head.
  var memory: MemoryCharge?
  var charged = 0
  /// Resumes the maker of the body's pieces, which waits until the last one is sent; false ends it.
  var piecesWait: ((Bool) -> Void)?

  init(_ id: Int32, limits: RequestParser.Limits) {
    self.id = id
    collector = RequestHeadCollector(limits: limits)
  }

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

  /// Changes the charge for the stream.
  ///
  /// - Returns: whether the client may have so much.
  func charge(_ amount: Int) -> Bool {
    let more = amount - charged
    charged = amount
    return more == 0 || memory?.add(more) ?? true
  }
}
