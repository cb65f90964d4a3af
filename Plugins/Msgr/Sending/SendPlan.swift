internal import Platform
internal import Push
internal import Storage

// The rules of sending, for one message or many, on either engine: what was read under locks goes in, and what is to be
// written comes out.

/// Messages that are decided together, in order, and the accounts that they concern, each once.
struct SendBatch: Sendable {
  let posts: [InboxPost]
  private(set) var accounts: [UserName] = []
  /// Of each message, the index of its recipient among the accounts.
  private(set) var recipients: [Int] = []
  /// Of each message, the index of the person who sends it; nil for publishers and topics.
  private(set) var senders: [Int?] = []

  init(_ posts: [InboxPost]) {
    self.posts = posts
    // A few names are found faster without hashes.
    var indices: [UserName: Int]? = posts.count > 4 ? [:] : nil
    for post in posts {
      recipients.append(index(of: post.recipient, &indices))
      senders.append(post.personal == nil ? nil : index(of: post.sender, &indices))
    }
  }

  private mutating func index(of name: UserName, _ indices: inout [UserName: Int]?) -> Int {
    let known = indices.map { $0[name] } ?? accounts.firstIndex(of: name)
    if let known { return known }
    accounts.append(name)
    indices?[name] = accounts.count - 1
    return accounts.count - 1
  }
}

/// The store's facts about a batch, read while its rows are locked.
struct SendFacts: Sendable {
  /// The counters of an account.
  struct Account: Sendable, Equatable {
    var messages = 0
    var unread = 0
    var last = MsgrMessageID.zero
    var sent = 0
    var named = 0
    var number: Int64 = 0
  }

  /// A device that messages are pushed to.
  struct Device: Sendable {
    let device: PushedDevice
    /// The message after which its streams bring everything; nil if it has none.
    let start: MsgrMessageID?
  }

  /// A message that was sent before under the same name.
  struct EarlierSend: Sendable {
    let digest: [UInt8]
    let id: MsgrMessageID
    let own: MsgrMessageID?
  }

  /// The facts about one message.
  struct PostFacts: Sendable {
    /// False if the sender's password or token isn't good any more.
    var isConfirmed = true
    /// The sender's token, if its use is to be recorded again.
    var token: TokenHash?
    var isBlocked = false
    /// True if the sender has a device that streams, and so keeps copies.
    var keepsCopies = false
    /// True if the sender has written to the recipient before.
    var hasWritten = false
    var earlier: EarlierSend?
  }

  /// The ways in which a full inbox may be met.
  enum FullInbox: Sendable {
    /// Nothing was done about it: the message has to be sent by itself.
    case untouched
    /// The inbox was full, and room was made as far as it may be; true if there is some.
    case settled(hasRoom: Bool)
  }

  /// By the indices of the batch's accounts; nil for a name that no account has, or one that isn't locked.
  var accounts: [Account?]
  /// The devices of each account that are pushed to, in the order of their bytes.
  var devices: [[Device]]
  /// The nodes that have streams of each account, if several share the store.
  var nodes: [[NodeID]]
  var posts: [PostFacts]
  var fullInbox = FullInbox.untouched

  init(for batch: SendBatch) {
    accounts = Array(repeating: nil, count: batch.accounts.count)
    devices = Array(repeating: [], count: batch.accounts.count)
    nodes = devices.map { _ in [] }
    posts = Array(repeating: PostFacts(), count: batch.posts.count)
  }
}

/// The limits that sending goes by.
struct SendLimits: Sendable {
  /// The most messages of an inbox, and as many own copies.
  let inbox: Int
  /// The most names of messages that are remembered of a sender.
  let clientIDs: Int
  /// The time that a push waits because a stream is expected to make it needless.
  let pushHold: Duration
  /// The life of a push.
  let pushLife: Duration
}

/// The rows to be written, and the result of each message.
struct SendPlan: Sendable {
  enum Outcome: Sendable {
    case sent(SendReceipt)
    case refused(any Error)
    /// The message has to be sent by itself, after the others.
    case alone
  }

  struct InboxRow: Sendable {
    let recipient: UserName
    let message: Message
    let topic: InboxPost.TopicEntry?
  }

  struct PushRow: Sendable {
    /// The index of the message among those of the batch.
    let post: Int
    let message: Message
    let recipient: UserName
    let device: PushedDevice
    let badge: Int
    let due: Timestamp
    /// True if no other push of the batch to this device is before it.
    let isFirst: Bool
    /// True if the inbox is full. Only then may more pushes wait for a phone than an inbox keeps messages.
    let isFull: Bool
  }

  struct NameRow: Sendable {
    let sender: UserName
    let clientID: ClientID
    let number: Int
    let digest: [UInt8]
    let id: MsgrMessageID
    let own: MsgrMessageID?
  }

  /// What became of the pushes as they were queued.
  struct QueuedPushes {
    /// Those that were leased, by their indices: the outbox need not look for these.
    var leased: [Int: LeasedPush] = [:]
    /// The number of earlier ones that went because too many waited.
    var dropped = 0
  }

  /// That a person has written to another one for the first time.
  struct Acquaintance: Sendable, Hashable {
    let sender: UserName
    let recipient: UserName
  }

  var outcomes: [Outcome] = []
  var inbox: [InboxRow] = []
  var copies: [Message] = []
  var names: [NameRow] = []
  var acquaintances: [Acquaintance] = []
  /// In the order of the devices' bytes, which is that of the locks.
  var pushes: [PushRow] = []
  /// The accounts that change, with their new counters.
  var accounts: [(name: UserName, counters: SendFacts.Account)] = []
  /// The tokens whose use is recorded again.
  var tokens: [TokenHash] = []
  /// The senders who have too many copies, and how many too many.
  var copiesToDrop: [(sender: UserName, count: Int)] = []
  /// The senders who have too many names, and the last one to forget.
  var namesToDrop: [(sender: UserName, upTo: Int)] = []

  /// Records in the receipts what became of the pushes.
  mutating func record(_ queued: QueuedPushes) {
    recordDropped(queued.dropped)
    recordLeased(queued.leased)
  }

  /// Records how many pushes went for those of all messages, which is counted once.
  private mutating func recordDropped(_ count: Int) {
    guard count > 0, let post = pushes.first?.post, case .sent(var receipt) = outcomes[post] else {
      return
    }
    receipt.droppedPushes = count
    outcomes[post] = .sent(receipt)
  }

  private mutating func recordLeased(_ leased: [Int: LeasedPush]) {
    guard !leased.isEmpty else { return }
    var direct: [Int: [LeasedPush]] = [:]
    var waiting: [Int: Set<PushKind>] = [:]
    for (index, push) in pushes.enumerated() {
      if let row = leased[index] {
        direct[push.post, default: []].append(row)
      } else {
        waiting[push.post, default: []].insert(push.device.address.kind)
      }
    }
    for (post, rows) in direct {
      guard case .sent(var receipt) = outcomes[post] else { continue }
      receipt.leased = rows
      receipt.pushes = waiting[post] ?? []
      outcomes[post] = .sent(receipt)
    }
  }
}

/// Decides about messages, in order.
func plan(
  _ batch: SendBatch, _ facts: SendFacts, now: Timestamp, _ limits: SendLimits
) -> SendPlan {
  var planner = SendPlanner(batch, facts, now, limits)
  for index in batch.posts.indices { planner.decide(index) }
  return planner.finish()
}

/// The state of planning: the accounts as they are with the messages so far.
private struct SendPlanner {
  private struct NameKey: Hashable {
    let sender: Int
    let clientID: ClientID
  }

  /// What became of the messages of the batch that have a name.
  private enum NameUse {
    /// One of them is sent; others are the same message.
    case sent(SendFacts.EarlierSend)
    /// They have to be sent by themselves.
    case alone
  }

  private let batch: SendBatch
  private let facts: SendFacts
  private let now: Timestamp
  private let limits: SendLimits
  private let earliest: MsgrMessageID
  private var accounts: [SendFacts.Account?]
  /// The inboxes that the next messages can't go into before a former one has been sent by itself.
  private var closed: Set<Int> = []
  /// The names that messages of the batch have.
  private var named: [NameKey: NameUse] = [:]
  private var pushedDevices: Set<DeviceID> = []
  private var plan = SendPlan()

  init(_ batch: SendBatch, _ facts: SendFacts, _ now: Timestamp, _ limits: SendLimits) {
    self.batch = batch
    self.facts = facts
    self.now = now
    self.limits = limits
    earliest = MsgrMessageID(earliestAt: now)
    accounts = facts.accounts
  }

  mutating func decide(_ index: Int) {
    let outcome = outcome(of: index)
    plan.outcomes.append(outcome)
    guard case .alone = outcome, let key = nameKey(of: index), named[key] == nil else { return }
    named[key] = .alone
  }

  private func nameKey(of index: Int) -> NameKey? {
    guard let sender = batch.senders[index], let clientID = batch.posts[index].personal?.clientID
    else { return nil }
    return NameKey(sender: sender, clientID: clientID)
  }

  private mutating func outcome(of index: Int) -> SendPlan.Outcome {
    let post = batch.posts[index]
    let fact = facts.posts[index]
    guard fact.isConfirmed else { return .refused(OutdatedCaller()) }
    let key = nameKey(of: index)
    if let key {
      var earlier = fact.earlier
      switch named[key] {
      case .alone: return .alone
      case .sent(let send): earlier = earlier ?? send
      case nil: break
      }
      if let earlier {
        guard earlier.digest == post.personal?.digest else {
          return .refused(RequestRefusal.otherMessage)
        }
        if let token = fact.token { plan.tokens.append(token) }
        return .sent(SendReceipt(id: earlier.id, isStored: false, own: earlier.own))
      }
    }
    let recipient = batch.recipients[index]
    guard let inbox = accounts[recipient] else { return .refused(RequestRefusal.forbidden) }
    // What comes behind a message that waits for room waits for it.
    guard !closed.contains(recipient) else { return .alone }
    var isFull = false
    var hasRoom = true
    switch facts.fullInbox {
    case .settled(let room):
      isFull = true
      hasRoom = room
    case .untouched where !fact.isBlocked && inbox.messages >= limits.inbox:
      closed.insert(recipient)
      return .alone
    case .untouched: break
    }
    if let token = fact.token { plan.tokens.append(token) }
    var receipt = store(index, fact, in: recipient, isFull: isFull, hasRoom: hasRoom)
    if let sender = batch.senders[index] {
      keepCopy(of: post, fact, sender: sender, recipient: recipient, &receipt)
      if !fact.hasWritten, sender != recipient {
        plan.acquaintances.append(
          SendPlan.Acquaintance(sender: post.sender, recipient: post.recipient))
      }
    }
    if let key { recordName(key, of: post, receipt) }
    return .sent(receipt)
  }

  /// Gives a message the next identifier of its recipient's log, above all earlier ones whatever the clock does; puts it into
  /// the inbox, and pushes it, unless the recipient blocks the sender.
  private mutating func store(
    _ index: Int, _ fact: SendFacts.PostFacts, in recipient: Int, isFull: Bool, hasRoom: Bool
  ) -> SendReceipt {
    let post = batch.posts[index]
    var account = accounts[recipient] ?? SendFacts.Account()
    defer { accounts[recipient] = account }
    let predecessor = account.last
    account.last = max(earliest, predecessor.next)
    var receipt = SendReceipt(id: account.last, isStored: !fact.isBlocked)
    guard receipt.isStored else { return receipt }
    var message = Message(
      id: account.last, sender: post.sender, text: post.text, time: now,
      isAddRequest: post.isAddRequest, parts: post.parts)
    if hasRoom {
      account.messages += 1
      account.unread += 1
      if post.isNumbered {
        account.number += 1
        message.number = account.number
        receipt.number = account.number
      }
      message.parts.topic = post.topic?.topic
      plan.inbox.append(
        SendPlan.InboxRow(recipient: post.recipient, message: message, topic: post.topic))
      receipt.entries.append(
        LogEntry(
          user: post.recipient, predecessor: predecessor, message: message,
          nodes: facts.nodes[recipient]))
    }
    for device in post.isPushed ? facts.devices[recipient] : [] {
      let isHeld = device.start.map { $0 < message.id } ?? false
      receipt.pushes.insert(device.device.address.kind)
      plan.pushes.append(
        SendPlan.PushRow(
          post: index, message: message, recipient: post.recipient, device: device.device,
          badge: account.unread, due: isHeld ? now + limits.pushHold : now,
          isFirst: isFirst(device.device.id), isFull: isFull))
    }
    return receipt
  }

  /// Returns whether no other push of the batch is before one to a device.
  private mutating func isFirst(_ device: DeviceID) -> Bool {
    // One message is pushed to each device once.
    batch.posts.count == 1 || pushedDevices.insert(device).inserted
  }

  /// Keeps the copy of a sender who has a device that streams; a message to oneself is its own copy.
  private mutating func keepCopy(
    of post: InboxPost, _ fact: SendFacts.PostFacts, sender: Int, recipient: Int,
    _ receipt: inout SendReceipt
  ) {
    guard fact.keepsCopies else { return }
    guard sender != recipient else {
      receipt.own = receipt.id
      return
    }
    guard var account = accounts[sender] else { return }
    let predecessor = account.last
    account.last = max(earliest, predecessor.next)
    account.sent += 1
    accounts[sender] = account
    let copy = Message(
      id: account.last, sender: post.sender, recipient: post.recipient, text: post.text, time: now,
      isAddRequest: false, clientID: post.personal?.clientID, origin: post.personal?.device)
    plan.copies.append(copy)
    receipt.own = copy.id
    receipt.entries.append(
      LogEntry(
        user: post.sender, predecessor: predecessor, message: copy, nodes: facts.nodes[sender]))
  }

  /// Remembers a message by its client's name, so that a retry is known.
  private mutating func recordName(_ key: NameKey, of post: InboxPost, _ receipt: SendReceipt) {
    guard var account = accounts[key.sender], let personal = post.personal else { return }
    account.named += 1
    accounts[key.sender] = account
    plan.names.append(
      SendPlan.NameRow(
        sender: post.sender, clientID: key.clientID, number: account.named,
        digest: personal.digest, id: receipt.id, own: receipt.own))
    named[key] = .sent(
      SendFacts.EarlierSend(digest: personal.digest, id: receipt.id, own: receipt.own))
  }

  /// Adds what follows from all messages together.
  mutating func finish() -> SendPlan {
    for (index, name) in batch.accounts.enumerated() {
      guard let account = accounts[index], let before = facts.accounts[index], account != before
      else { continue }
      plan.accounts.append((name, account))
      if account.sent > before.sent, account.sent > limits.inbox {
        plan.copiesToDrop.append((name, account.sent - limits.inbox))
      }
      if account.named > before.named, account.named > limits.clientIDs {
        plan.namesToDrop.append((name, account.named - limits.clientIDs))
      }
    }
    guard plan.pushes.count > 1 else { return plan }
    // Stable, so that the pushes of a device stay in order.
    let order = plan.pushes.indices.sorted { left, right in
      let first = plan.pushes[left].device.id.text
      let second = plan.pushes[right].device.id.text
      return first == second
        ? left < right : first.utf8.lexicographicallyPrecedes(second.utf8)
    }
    plan.pushes = order.map { plan.pushes[$0] }
    return plan
  }
}
