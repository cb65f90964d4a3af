internal import ApptimistProtocol
internal import Cryptography

/// Messages that are in the message log but not in all of their recipients' mailboxes yet, in the order
/// in which they came.
struct PendingDeliveries {
  /// A message that one user is still to get.
  struct Delivery {
    let user: AccountNumber
    let position: MailboxPosition
    let id: MessageID
    let sender: AccountNumber
    /// The message in the message log.
    let message: LogNumber
    /// The bytes that it counts.
    let size: Int
  }

  typealias Mailbox = DeliveryFacts.Mailbox
  typealias Sender = DeliveryFacts.Sender

  /// A message in the message log, with its recipients.
  private struct Logged {
    let message: LogNumber
    let recipients: [EncryptionPublicKey]
    /// The recipients before this one have got it.
    var next = 0
    /// The bytes of its copies, here and when they are hashed. Each counts in full, though the message
    /// is stored once: each has an identifier of its own, a hash of all of it.
    let bytes: Int
  }

  /// The most mailboxes that are remembered beside those with pending deliveries, and the most senders.
  private static let capacity = 32_768

  /// The deliveries that are pending for each user.
  private var deliveries: [EncryptionPublicKey: [Delivery]] = [:]
  private var known: [DeliveryFacts.KnownMessage: MailboxPosition] = [:]
  private var mailboxes: [EncryptionPublicKey: Mailbox] = [:]
  private var senders: [EncryptionPublicKey: Sender] = [:]
  /// The oldest first. Those before `first` are delivered.
  private var logged: [Logged] = []
  private var first = 0
  private var recorded: LogNumber
  private var added: Set<EncryptionPublicKey> = []
  private var flushed: Set<EncryptionPublicKey> = []

  /// The number of the next message, or nil if the database gives it.
  private(set) var next: LogNumber?
  /// The number of wakes that were queued in the present transaction.
  var wakes = 0
  /// The number of deliveries.
  private(set) var count = 0
  /// The bytes of the copies of messages that somebody is still to get.
  private(set) var bytes = 0

  /// Makes an empty list.
  ///
  /// - Parameters:
  ///   - next: the number of the next message, or nil if the database gives it.
  ///   - recorded: the oldest message that somebody is still to get, as far as the file says.
  init(next: LogNumber? = nil, recorded: LogNumber = LogNumber(rawValue: 0)) {
    self.next = next
    self.recorded = recorded
  }

  /// The users for whom deliveries are pending.
  var recipients: some Collection<EncryptionPublicKey> { deliveries.keys }

  /// Returns the oldest message that somebody is still to get, or else the next, if it is to be recorded
  /// in the file.
  ///
  /// It is not recorded each time: with an older one, some messages more are read that all have got.
  mutating func oldestToRecord() -> LogNumber? {
    let last = first < logged.count ? logged[first].message : next
    guard let oldest = last, oldest.rawValue - recorded.rawValue >= 64 else { return nil }
    recorded = oldest
    return oldest
  }

  /// Returns the position of a message whose delivery to a user is pending, or about to be added.
  func position(of message: DeliveryFacts.KnownMessage) -> MailboxPosition? { known[message] }

  /// Returns a user's mailbox, or nil if it must be looked up; then no delivery to it is pending.
  func mailbox(of user: EncryptionPublicKey) -> Mailbox? { mailboxes[user] }

  /// Remembers a mailbox that was looked up.
  mutating func remember(_ mailbox: Mailbox, of user: EncryptionPublicKey) {
    mailboxes[user] = mailbox
  }

  /// Returns a sender, or nil if the account must be looked up.
  func sender(_ user: EncryptionPublicKey) -> Sender? { senders[user] }

  /// Remembers a sender who was looked up.
  mutating func remember(_ sender: Sender, as user: EncryptionPublicKey) {
    if senders.count == Self.capacity { senders = [:] }
    senders[user] = sender
  }

  /// Forgets a sender whose account has changed.
  mutating func forgetSender(_ user: EncryptionPublicKey) { senders[user] = nil }

  /// Adds a message for all of its recipients.
  ///
  /// - Parameters:
  ///   - message: the message in the message log, a later one than all before.
  ///   - size: the bytes that it counts.
  mutating func add(
    _ message: LogNumber, size: Int, from sender: AccountNumber, for recipients: [Addressee]
  ) {
    if next != nil { next = message.next }
    let entry = Logged(
      message: message, recipients: recipients.map(\.key), bytes: (size + 32) * recipients.count)
    logged.append(entry)
    bytes += entry.bytes
    count += recipients.count
    for recipient in recipients {
      let delivery = Delivery(
        user: recipient.user, position: recipient.position, id: recipient.id, sender: sender,
        message: message, size: size)
      deliveries[recipient.key, default: []].append(delivery)
      known[DeliveryFacts.KnownMessage(recipient.id, of: recipient.user)] = recipient.position
      added.insert(recipient.key)
    }
  }

  /// Removes the deliveries to a user, to be put into the mailbox.
  mutating func remove(for recipient: EncryptionPublicKey) -> [Delivery] {
    guard let removed = deliveries.removeValue(forKey: recipient) else { return [] }
    for delivery in removed {
      known[DeliveryFacts.KnownMessage(delivery.id, of: delivery.user)] = nil
    }
    count -= removed.count
    flushed.insert(recipient)
    return removed
  }

  /// The bytes of pending deliveries by their senders; a message counts for each recipient.
  var bytesBySender: [AccountNumber: Int] {
    var bytes: [AccountNumber: Int] = [:]
    for delivery in deliveries.values.joined() {
      bytes[delivery.sender, default: 0] += delivery.size
    }
    return bytes
  }

  /// Returns a user who is still to get the oldest message that somebody is still to get, or nil if
  /// nothing is pending.
  ///
  /// It passes over messages that all have got, and is to be called whenever something was added.
  mutating func nextRecipient() -> EncryptionPublicKey? {
    while first < logged.count {
      while logged[first].next < logged[first].recipients.count {
        let recipient = logged[first].recipients[logged[first].next]
        if deliveries[recipient]?.first?.message == logged[first].message { return recipient }
        logged[first].next += 1
      }
      bytes -= logged[first].bytes
      first += 1
      guard first > logged.count / 2 else { continue }
      logged.removeFirst(first)
      first = 0
    }
    return nil
  }

  /// Returns the users for whom something was added since the last call.
  mutating func removeAdded() -> Set<EncryptionPublicKey> {
    // Only now: a mailbox whose position is taken must stay until the message is added.
    if mailboxes.count > Self.capacity {
      mailboxes = mailboxes.filter { deliveries[$0.key] != nil }
    }
    defer { added = [] }
    return added
  }

  /// Returns the users to whose mailboxes all was flushed since the last call.
  mutating func removeFlushed() -> Set<EncryptionPublicKey> {
    defer { flushed = [] }
    return flushed.filter { deliveries[$0] == nil }
  }

  /// Records that a device of a user has a push address.
  mutating func bind(_ user: EncryptionPublicKey) { mailboxes[user]?.isBound = true }

  /// Forgets a mailbox that is about to get an entry in another way.
  mutating func forget(_ recipient: EncryptionPublicKey) { mailboxes[recipient] = nil }
}
