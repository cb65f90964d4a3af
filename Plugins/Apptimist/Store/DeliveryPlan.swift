internal import ApptimistProtocol
internal import Cryptography
internal import Storage

/// The holder of a share of a mailbox: a contact of its owner, or all strangers of one site together.
///
/// Contacts are those to whom the owner has written or for whom the owner vouches, and the owner.
struct ShareHolder: RawRepresentable, Hashable, Sendable, DatabaseValueConvertible {
  /// A contact's account number, or a site's number below zero.
  let rawValue: Int64

  init(rawValue: Int64) { self.rawValue = rawValue }

  init(contact: AccountNumber) { rawValue = contact.rawValue }

  var isStranger: Bool { rawValue < 0 }
}

/// A user who gets a message, and its position in the user's mailbox.
struct Addressee: Hashable {
  let key: EncryptionPublicKey
  let user: AccountNumber
  let position: MailboxPosition
  /// The identifier by which this user knows the message.
  let id: MessageID
}

/// The facts about senders, mailboxes and messages before a batch is delivered, read under the mailboxes' locks.
struct DeliveryFacts {
  /// The account of a user who sends messages.
  struct Sender {
    let user: AccountNumber
    let authenticationKey: AuthenticationPublicKey
    let isClosed: Bool

    /// Returns whether a login holds.
    func holds(_ login: AccountLogin) -> Bool {
      login.holds(authenticationKey: authenticationKey, isClosed: isClosed)
    }
  }

  /// A user's mailbox with all deliveries to it.
  struct Mailbox {
    let user: AccountNumber
    /// The last position that is given away.
    var last: MailboxPosition
    var entries: Int
    var bytes: Int
    /// True if a device of the user may have a push address.
    var isBound = false

    /// Returns whether a message of a size fits without another one's being dropped.
    func hasRoom(for size: Int, _ limits: ApptimistStore.Limits) -> Bool {
      entries < limits.mailboxEntries && bytes <= limits.mailboxBytes - size
    }
  }

  /// A message as the mailbox of a user knows it.
  struct KnownMessage: Hashable {
    let user: AccountNumber
    let id: KnownID

    init(id: KnownID, user: AccountNumber) {
      self.id = id
      self.user = user
    }

    init(_ id: MessageID, of user: AccountNumber) {
      self.user = user
      self.id = KnownID(id)
    }
  }

  /// The senders by their keys; one who isn't there may not send.
  var senders: [EncryptionPublicKey: Sender] = [:]
  /// The mailboxes by their owners' keys; who isn't there is no user.
  var mailboxes: [EncryptionPublicKey: Mailbox] = [:]
  /// The positions of the messages that mailboxes know already.
  var known: [KnownMessage: MailboxPosition] = [:]
}

/// Messages that one user sends.
struct DeliveryRequest: Sendable {
  /// One copy for each recipient. Neighbours that differ in the recipient only are stored once.
  let copies: ArraySlice<MessageCopy>
  let login: AccountLogin
  /// The forums by their keys, as the copies were made for them: nothing is delivered if any has changed.
  var forums: [EncryptionPublicKey: Forum] = [:]
}

/// The decisions about a batch of messages. They follow from the facts alone, and are the same for both engines.
struct DeliveryPlan {
  /// The decision about one copy.
  enum Decision: Hashable {
    case delivered(MailboxPosition)
    /// The message is or was in the mailbox, and is not delivered again.
    case known(MailboxPosition)
    /// There is no such user, or the sender's login holds no more.
    case unknownRecipient
    /// The mailbox is full: the copy is planned again, once something was dropped for it.
    case needsRoom
  }

  /// A message that is stored once, for all of its recipients.
  struct Message {
    let copy: MessageCopy
    let sender: AccountNumber
    var addressees: [Addressee]

    /// The bytes that it counts in each mailbox.
    var size: Int { copy.size }
  }

  /// The decision about each copy of each request.
  private(set) var decisions: [[Decision]] = []
  private(set) var messages: [Message] = []
  /// The mailboxes that get something, as they are with it.
  private(set) var mailboxes: [EncryptionPublicKey: DeliveryFacts.Mailbox] = [:]
  /// The copies that may wake devices, in order.
  private(set) var news: [WakePlan.News] = []

  private var facts: DeliveryFacts
  private let limits: ApptimistStore.Limits
  private let makesNoRoom: Bool
  /// The users whose mailboxes turned out to be full.
  private var full: Set<EncryptionPublicKey> = []

  /// Decides about requests, in order.
  ///
  /// - Parameter hasMadeRoom: whether room was made for all copies, so that they fit in any case.
  init(
    _ requests: [DeliveryRequest], _ facts: DeliveryFacts, _ limits: ApptimistStore.Limits,
    hasMadeRoom: Bool = false
  ) {
    self.facts = facts
    self.limits = limits
    makesNoRoom = hasMadeRoom
    decisions.reserveCapacity(requests.count)
    for request in requests { decisions.append(plan(request)) }
    messages.removeAll { $0.addressees.isEmpty }
  }

  private mutating func plan(_ request: DeliveryRequest) -> [Decision] {
    guard let sender = facts.senders[request.login.user], sender.holds(request.login) else {
      return request.copies.map { _ in .unknownRecipient }
    }
    var decisions: [Decision] = []
    decisions.reserveCapacity(request.copies.count)
    var previous: MessageCopy?
    for copy in request.copies {
      if previous.map({ !copy.isSame(as: $0) }) ?? true {
        messages.append(Message(copy: copy, sender: sender.user, addressees: []))
      }
      previous = copy
      decisions.append(decide(copy, from: sender.user))
    }
    return decisions
  }

  private mutating func decide(_ copy: MessageCopy, from sender: AccountNumber) -> Decision {
    guard var mailbox = facts.mailboxes[copy.recipient] else { return .unknownRecipient }
    // What makes room may have a mailbox forget what it knows.
    guard !full.contains(copy.recipient) else { return .needsRoom }
    let known = DeliveryFacts.KnownMessage(copy.id, of: mailbox.user)
    if let position = facts.known[known] { return .known(position) }
    guard makesNoRoom || mailbox.hasRoom(for: copy.size, limits) else {
      full.insert(copy.recipient)
      return .needsRoom
    }
    mailbox.last = mailbox.last.next
    // Whatever stands in the file, the program goes on.
    mailbox.entries &+= 1
    mailbox.bytes &+= copy.size
    facts.mailboxes[copy.recipient] = mailbox
    facts.known[known] = mailbox.last
    mailboxes[copy.recipient] = mailbox
    messages[messages.count - 1].addressees.append(
      Addressee(key: copy.recipient, user: mailbox.user, position: mailbox.last, id: copy.id))
    if mailbox.isBound, mailbox.user != sender {
      news.append(WakePlan.News(of: copy, at: mailbox.last, for: mailbox.user))
    }
    return .delivered(mailbox.last)
  }
}

/// The entries that a full mailbox could lose for a message.
struct EvictionFacts {
  /// The holder of the message that comes.
  let holder: ShareHolder
  /// The oldest entry, if all of the user's devices have acknowledged it.
  let acknowledged: (position: MailboxPosition, holder: ShareHolder)?
  /// The oldest entry of the strangers whose site holds most.
  let largestSite: (position: MailboxPosition, holder: ShareHolder)?
  /// The oldest entry of whoever holds most.
  let largestShare: (position: MailboxPosition, holder: ShareHolder)?

  /// The entry that goes first: what has served its purpose, then what strangers sent, then what the contact who holds most
  /// sent. Nothing that a contact sent goes for a stranger's message.
  var victim: (position: MailboxPosition, holder: ShareHolder)? {
    acknowledged ?? largestSite ?? (holder.isStranger ? nil : largestShare)
  }
}
