internal import ApptimistProtocol

/// The requests of one connection of version 2 that have no answer yet.
struct Version2Requests {
  struct Sent {
    let number: UInt32
    /// The request's number in the device, or nil once nobody waits for it.
    var id: UInt64?
    let request: DeviceRequest
  }

  /// The number of requests, and the bytes of them, that are on their way at once; a single one may be larger.
  private static let window = (requests: 32, bytes: 1 << 20)

  let handshake: Version2.Handshake
  /// The longest data that the service takes, in bytes.
  let dataLimit: Int
  private var lastNumber: UInt32 = 0
  private var sent: [Sent] = []
  private var bytes = 0

  init(_ handshake: Version2.Handshake, _ hello: Version2.Hello) {
    self.handshake = handshake
    dataLimit = Int(hello.dataMax)
  }

  /// The requests that somebody waits for, oldest first.
  var awaited: [(id: UInt64, request: DeviceRequest)] {
    sent.compactMap { sent in sent.id.map { ($0, sent.request) } }
  }

  /// The number of the next request, which is not 0.
  mutating func nextNumber() -> UInt32 {
    lastNumber = lastNumber == .max ? 1 : lastNumber + 1
    return lastNumber
  }

  /// Appends a request that is to be sent, if there is room for it.
  ///
  /// - Returns: its number on the wire, or nil if there is no room.
  mutating func append(_ id: UInt64, _ request: DeviceRequest) -> UInt32? {
    guard
      sent.isEmpty
        || sent.count < Self.window.requests && bytes + request.cost <= Self.window.bytes
    else { return nil }
    bytes += request.cost
    let number = nextNumber()
    sent.append(Sent(number: number, id: id, request: request))
    return number
  }

  /// Notes that nobody waits for a request any more.
  mutating func abandon(_ id: UInt64) {
    for index in sent.indices where sent[index].id == id { sent[index].id = nil }
  }

  /// The request whose answer comes next.
  var oldest: Sent? { sent.first }

  /// Removes the oldest request, as its answer has come.
  mutating func removeOldest() { bytes -= sent.removeFirst().request.cost }
}
