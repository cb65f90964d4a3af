internal import ApptimistProtocol

/// The requests that were sent on a connection and have no reply yet, oldest first, which is the order of the replies.
struct Version1Requests {
  private struct Sent {
    /// The request's number, or nil once nobody waits for it.
    var id: UInt64?
    let request: DeviceRequest
    var reply: PartialReply
  }

  /// The number of requests, and the bytes of them, that are on their way at once; a single one may be larger.
  private static let window = (requests: 32, bytes: 1 << 20)

  private var requests: [Sent] = []
  private var bytes = 0

  /// The requests that somebody waits for.
  var awaited: [(id: UInt64, request: DeviceRequest)] {
    requests.compactMap { sent in sent.id.map { ($0, sent.request) } }
  }

  /// Appends a request that is to be sent, if there is room for it.
  ///
  /// - Returns: whether there is room.
  mutating func append(
    _ id: UInt64, _ request: DeviceRequest, expecting reply: PartialReply
  ) -> Bool {
    guard
      requests.isEmpty
        || requests.count < Self.window.requests && bytes + request.cost <= Self.window.bytes
    else { return false }
    requests.append(Sent(id: id, request: request, reply: reply))
    bytes += request.cost
    return true
  }

  /// Notes that nobody waits for a request any more. Its reply is still to come: others stand behind it.
  mutating func abandon(_ id: UInt64) {
    for index in requests.indices where requests[index].id == id { requests[index].id = nil }
  }

  /// Gives the echo of a truncation to the request that it belongs to.
  ///
  /// - Returns: whether there is one.
  mutating func takeEcho(_ message: MessageID) -> Bool {
    requests.indices.contains { requests[$0].reply.takeEcho(message) }
  }

  /// Gives a PDU to the oldest request.
  ///
  /// - Parameters:
  ///   - pdu: the PDU.
  ///   - data: its data, boxed.
  /// - Returns: the progress of the reply, and a request that it completes if somebody waits for that.
  mutating func take(
    _ pdu: PDU, _ data: ArraySlice<UInt8>
  ) -> (PartialReply.Progress, (id: UInt64, request: DeviceRequest)?) {
    guard !requests.isEmpty else { return (.mismatch, nil) }
    let progress = requests[0].reply.take(pdu, data)
    guard case .complete = progress else { return (progress, nil) }
    let sent = requests.removeFirst()
    bytes -= sent.request.cost
    return (progress, sent.id.map { ($0, sent.request) })
  }
}
