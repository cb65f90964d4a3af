internal import ApptimistProtocol
internal import TestSupport

@testable import Apptimist

/// The simplest model of a mailbox: arrays, gone through from the start each time.
struct MailboxModel {
  struct Entry {
    let position: Int64
    let id: MessageID
    let sender: Int
    var kind: EntryKind
    var copy: MessageCopy?
    var size: Int
  }

  private(set) var entries: [Entry] = []
  private(set) var last: Int64 = 0
  private(set) var known: [MessageID: (position: Int64, isTruncated: Bool)] = [:]
  private(set) var dropped: [(position: Int64, id: MessageID)] = []
  let owner: Int
  private let limits: ApptimistStore.Limits

  init(owner: Int, limits: ApptimistStore.Limits) {
    self.owner = owner
    self.limits = limits
  }

  /// Makes a message as a user gets it: headers differ in the recipient only.
  static func copy(of number: Int, _ data: [UInt8], for user: Int) -> MessageCopy {
    let message = PDU.Message(
      time: UInt64(number), recipient: StoreFixture.key(user), to: StoreFixture.key(10),
      from: StoreFixture.key(1))
    let header = PDU.message(message).encoded()
    return MessageCopy(
      recipient: StoreFixture.key(user), id: MessageID(header: header, data: data[...]),
      header: header, data: data)
  }

  mutating func deliver(_ copy: MessageCopy, from sender: Int) -> Delivered {
    if let known = known[copy.id] { return .known(MailboxPosition(rawValue: known.position)) }
    // Known before room is made: it is the newest, and never the one that is forgotten.
    known[copy.id] = (last + 1, false)
    append(copy.id, from: sender, .message, copy, size: copy.header.count + copy.data.count)
    return .delivered(MailboxPosition(rawValue: last))
  }

  mutating func truncate(_ id: MessageID) -> Truncation {
    guard let message = known[id] else { return .never }
    guard !message.isTruncated else { return .again }
    known[id] = (message.position, true)
    if let index = entries.firstIndex(where: { $0.position == message.position }) {
      entries[index].kind = .place
      entries[index].copy = nil
      entries[index].size = 0
    }
    append(id, from: owner, .truncation, nil, size: 66)
    return .first(MailboxPosition(rawValue: last))
  }

  private mutating func append(
    _ id: MessageID, from sender: Int, _ kind: EntryKind, _ copy: MessageCopy?, size: Int
  ) {
    while !entries.isEmpty {
      let isCrowded = entries.count >= limits.mailboxEntries
      let bytes = entries.reduce(0) { $0 + $1.size }
      guard isCrowded || bytes + size > limits.mailboxBytes else { break }
      var shares: [Int: Int] = [:]
      for entry in entries { shares[entry.sender, default: 0] += isCrowded ? 1 : entry.size }
      let most = shares.values.max()
      guard let index = entries.firstIndex(where: { shares[$0.sender] == most }) else { break }
      let entry = entries.remove(at: index)
      guard entry.kind != .truncation else { continue }
      dropped.append((entry.position, entry.id))
      dropped.sort { $0.position < $1.position }
      while dropped.count > limits.rememberedMessages { known[dropped.removeFirst().id] = nil }
    }
    last += 1
    entries.append(
      Entry(position: last, id: id, sender: sender, kind: kind, copy: copy, size: size))
  }

  func start(head: MessageID, max: Int) -> Int64 {
    let start = known[head]?.position ?? 0
    let places = entries.filter { $0.kind != .truncation }
    guard max > 0, places.count >= max else { return start }
    return Swift.max(start, places[places.count - max].position - 1)
  }

  /// The entries of a stream behind a position.
  func stream(after position: Int64) -> [MailboxEntry] {
    entries.filter { $0.position > position && $0.kind != .place }.map { entry in
      MailboxEntry(
        position: MailboxPosition(rawValue: entry.position), id: entry.id,
        content: entry.copy.map { .message(header: $0.header, data: $0.data) } ?? .truncation)
    }
  }
}
