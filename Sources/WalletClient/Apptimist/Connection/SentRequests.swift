internal import ApptimistProtocol

/// The requests that were sent on a connection and have no reply yet, oldest first, which is the order of the replies.
struct SentRequests {
  struct Sent {
    /// The request's number in the device, or nil once nobody waits for it.
    var id: UInt64?
    let request: DeviceRequest
    /// The number on the wire, in version 2.
    let number: UInt32
    /// The part of the reply that has come, in version 1.
    var reply: PartialReply?
  }

  /// The number of requests, and the bytes of them, that are on their way at once; a single one may be larger.
  private static let window = (requests: 32, bytes: 1 << 20)

  private var lastNumber: UInt32 = 0
  private var sent: [Sent] = []
  private var bytes = 0

  /// The requests that somebody waits for.
  var awaited: [(id: UInt64, request: DeviceRequest)] {
    sent.compactMap { sent in sent.id.map { ($0, sent.request) } }
  }

  /// The number of the next request on the wire, which is not 0.
  mutating func nextNumber() -> UInt32 {
    lastNumber = lastNumber == .max ? 1 : lastNumber + 1
    return lastNumber
  }

  /// Appends a request that is to be sent, if there is room for it.
  ///
  /// - Returns: its number on the wire, or nil if there is no room.
  mutating func append(
    _ id: UInt64, _ request: DeviceRequest, expecting reply: PartialReply? = nil
  ) -> UInt32? {
    let fits = sent.count < Self.window.requests && bytes + request.cost <= Self.window.bytes
    guard fits || sent.isEmpty else { return nil }
    bytes += request.cost
    let number = nextNumber()
    sent.append(Sent(id: id, request: request, number: number, reply: reply))
    return number
  }

  /// Notes that nobody waits for a request any more. Its reply is still to come: others stand behind it.
  mutating func abandon(_ id: UInt64) {
    for index in sent.indices where sent[index].id == id { sent[index].id = nil }
  }

  /// Gives the echo of a truncation to the request that it belongs to.
  ///
  /// - Returns: whether there is one.
  mutating func takeEcho(_ message: MessageID) -> Bool {
    sent.indices.contains { sent[$0].reply?.takeEcho(message) == true }
  }

  /// Gives a PDU with its boxed data to the oldest request, and returns the progress of the reply.
  mutating func take(_ pdu: PDU, _ data: ArraySlice<UInt8>) -> PartialReply.Progress {
    sent.isEmpty ? .mismatch : sent[0].reply?.take(pdu, data) ?? .mismatch
  }

  /// The request whose reply comes next.
  var oldest: Sent? { sent.first }

  /// Removes the oldest request, as its reply has come.
  mutating func removeOldest() -> Sent {
    bytes -= sent[0].request.cost
    return sent.removeFirst()
  }
}
