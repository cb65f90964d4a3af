internal import ApptimistProtocol
internal import Cryptography

/// A request to the service, which each version of the protocol encodes in its own PDUs.
enum DeviceRequest {
  /// The subject of a search.
  enum Search {
    case name(ShortBytes)
    case uid(ShortBytes)
    case key(EncryptionPublicKey)
  }

  /// The operation on a file.
  enum FileAction {
    case read
    case lock
    case write([UInt8])
    case remove
  }

  case send(OutgoingMessage)
  case truncate(MessageID)
  case search(Search, Version2.PageQuery = Version2.PageQuery())
  case vouch(EncryptionPublicKey, isTakenBack: Bool)
  case vouchers(EncryptionPublicKey, Version2.PageQuery = Version2.PageQuery())
  case file(FileAction, EncryptionPublicKey, Filename)
  case makeForum(AccountName, DeviceKeys, Version2.Flags)
  case deleteForum(EncryptionPublicKey)
  /// Have the device woken at an address, or no more.
  case push(Version2.PushBinding?)
  case leave
  case join(EncryptionPublicKey)

  /// True if it may be sent again when it isn't known whether it was done.
  var isRepeatable: Bool {
    switch self {
    case .file(.read, _, _): true
    case .file, .leave: false
    default: true
    }
  }

  /// The bytes of its data.
  var dataLength: Int {
    switch self {
    case .send(let message): message.box.count
    case .file(.write(let content), _, _): content.count
    case .push(let binding?): binding.data.count
    default: 0
    }
  }

  /// Its size on the wire in bytes, roughly.
  var cost: Int { dataLength + 256 }
}

/// The service's reply to a ``DeviceRequest`` that it has carried out.
enum DeviceReply: Equatable {
  case done
  /// A part of a list of accounts; `next` is zero at its end.
  case users([DeviceUser], next: Version2.Cursor)
  /// A part of a list of vouchers; `next` is zero at its end.
  case vouchers([Version2.Voucher], next: Version2.Cursor)
  /// A file.
  case content([UInt8])
}

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

  /// Records that nobody waits for a request any more. Its reply is still to come, before those of later requests.
  mutating func abandon(_ id: UInt64) {
    for index in sent.indices where sent[index].id == id { sent[index].id = nil }
  }

  /// Matches the echo of a truncation with the request that it belongs to.
  ///
  /// - Returns: whether there is one.
  mutating func acceptEcho(_ message: MessageID) -> Bool {
    sent.indices.contains { sent[$0].reply?.acceptEcho(message) == true }
  }

  /// Adds a PDU with its boxed data to the reply of the oldest request, and returns the reply's progress.
  mutating func accept(_ pdu: PDU, _ data: ArraySlice<UInt8>) -> PartialReply.Progress {
    sent.isEmpty ? .mismatch : sent[0].reply?.accept(pdu, data) ?? .mismatch
  }

  /// The request whose reply comes next.
  var oldest: Sent? { sent.first }

  /// Removes the oldest request, as its reply has come.
  mutating func removeOldest() -> Sent {
    bytes -= sent[0].request.cost
    return sent.removeFirst()
  }
}
