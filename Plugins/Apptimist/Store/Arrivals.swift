internal import ApptimistProtocol
internal import Cryptography

/// Messages that are written down but not in all their queues yet, in the order in which they came.
struct Arrivals {
  /// A message for one user.
  struct Copy {
    let user: Int64
    let position: StreamPosition
    let id: MessageID
    let sender: Int64
    /// The row with its content.
    let content: Int64
    /// What it counts, in bytes.
    let size: Int
  }

  /// A user's queue with all that has arrived for it.
  struct Queue {
    let user: Int64
    /// The last position that is given away.
    var last: StreamPosition
  }

  /// A message as the queue of a user knows it.
  private struct Known: Hashable {
    let user: Int64
    let id: KnownID
  }

  /// A content, and who was to get it when it came.
  private struct Arrival {
    let content: Int64
    let recipients: [EncryptionPublicKey]
    /// Those of the recipients before this one have got it.
    var next = 0
    /// What its copies have, and take here, in bytes. Each counts in full, though the content is
    /// stored once: each has an identifier of its own, a hash of all of it.
    let bytes: Int
  }

  /// How many queues are remembered beside those for which something has arrived.
  private static let capacity = 32_768

  /// What has arrived for each user who hasn't got it yet.
  private var copies: [EncryptionPublicKey: [Copy]] = [:]
  private var known: Set<Known> = []
  private var queues: [EncryptionPublicKey: Queue] = [:]
  /// The oldest first. Those before `first` are over.
  private var arrivals: [Arrival] = []
  private var first = 0
  private var recorded: Int64
  private var added: Set<EncryptionPublicKey> = []
  private var settled: Set<EncryptionPublicKey> = []

  /// The number of the next content.
  private(set) var next: Int64
  /// How many copies there are.
  private(set) var count = 0
  /// What the copies of the arrivals have, and take here, in bytes.
  private(set) var bytes = 0

  /// Nothing has arrived.
  ///
  /// - Parameters:
  ///   - next: the number of the next content.
  ///   - recorded: the oldest content that somebody hasn't got, as far as the file says.
  init(next: Int64, recorded: Int64) {
    self.next = next
    self.recorded = recorded
  }

  /// For whom something has arrived.
  var recipients: some Collection<EncryptionPublicKey> { copies.keys }

  /// The oldest content that somebody hasn't got, or else the next, if the file is to be told.
  ///
  /// Not each time: who asks the file only finds some more that all have got.
  mutating func oldestToRecord() -> Int64? {
    let oldest = first < arrivals.count ? arrivals[first].content : next
    guard oldest - recorded >= 64 else { return nil }
    recorded = oldest
    return oldest
  }

  /// Whether a message is among them, or about to be.
  func knows(_ id: MessageID, for user: Int64) -> Bool {
    known.contains(Known(user: user, id: KnownID(id)))
  }

  /// A user's queue; nil: nothing has arrived for it, and it must be looked up.
  func queue(of user: EncryptionPublicKey) -> Queue? { queues[user] }

  /// Remembers a queue that was looked up.
  mutating func note(_ queue: Queue, of user: EncryptionPublicKey) { queues[user] = queue }

  /// Gives the next position of a queue to a message that is about to be added.
  mutating func take(
    _ queue: Queue, of recipient: EncryptionPublicKey, for id: MessageID
  ) -> StreamPosition {
    queues[recipient] = Queue(user: queue.user, last: queue.last.next)
    known.insert(Known(user: queue.user, id: KnownID(id)))
    return queue.last.next
  }

  /// Adds a message, for all who are to get it.
  ///
  /// - Parameters:
  ///   - content: the row with its content, a later one than all before.
  ///   - size: what it counts, in bytes.
  ///   - recipients: who is to get it, and where; the positions are taken.
  mutating func add(
    _ content: Int64, size: Int, from sender: Int64, for recipients: [Recipient]
  ) {
    next = content + 1
    let arrival = Arrival(
      content: content, recipients: recipients.map(\.key), bytes: (size + 32) * recipients.count)
    arrivals.append(arrival)
    bytes += arrival.bytes
    count += recipients.count
    for recipient in recipients {
      let copy = Copy(
        user: recipient.user, position: recipient.position, id: recipient.id, sender: sender,
        content: content, size: size)
      copies[recipient.key, default: []].append(copy)
      added.insert(recipient.key)
    }
  }

  /// Takes what has arrived for a user, to be put into the queue.
  mutating func takeCopies(for recipient: EncryptionPublicKey) -> [Copy] {
    guard let taken = copies.removeValue(forKey: recipient) else { return [] }
    for copy in taken { known.remove(Known(user: copy.user, id: KnownID(copy.id))) }
    count -= taken.count
    settled.insert(recipient)
    return taken
  }

  /// Who is to get the oldest message that somebody hasn't got; nil: all have got all.
  ///
  /// It passes over what all have got, and so is to be asked whenever something has been added.
  mutating func nextRecipient() -> EncryptionPublicKey? {
    while first < arrivals.count {
      while arrivals[first].next < arrivals[first].recipients.count {
        let recipient = arrivals[first].recipients[arrivals[first].next]
        if copies[recipient]?.first?.content == arrivals[first].content { return recipient }
        arrivals[first].next += 1
      }
      bytes -= arrivals[first].bytes
      first += 1
      guard first > arrivals.count / 2 else { continue }
      arrivals.removeFirst(first)
      first = 0
    }
    return nil
  }

  /// For whom something has been added since this was asked last.
  mutating func takeAdded() -> Set<EncryptionPublicKey> {
    // Only now: a queue whose position is taken must stay until the message is added.
    if queues.count > Self.capacity { queues = queues.filter { copies[$0.key] != nil } }
    defer { added = [] }
    return added
  }

  /// Who has got all since this was asked last.
  mutating func takeSettled() -> Set<EncryptionPublicKey> {
    defer { settled = [] }
    return settled.filter { copies[$0] == nil }
  }

  /// Forgets a queue that is about to get an entry in another way.
  mutating func forget(_ recipient: EncryptionPublicKey) { queues[recipient] = nil }
}
