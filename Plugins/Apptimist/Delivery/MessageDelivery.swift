internal import ApptimistProtocol
internal import Cluster
internal import Cryptography
internal import Formats
internal import Observability
internal import Platform
internal import ServiceKit

/// Delivers posts to mailboxes, and notifies the recipients' sessions.
struct MessageDelivery: Sendable {
  /// The bytes of copies for forums after which they are delivered before those of further posts are
  /// made.
  private static let groupBytes = 1 << 20
  /// The number of copies after which they are.
  private static let groupCopies = 4_096
  /// The most copies that are delivered in one piece: others wait for some milliseconds.
  private static let pieceCopies = 512
  /// The most bytes that one piece writes, unless one copy has more.
  private static let pieceBytes = 1 << 20

  let store: ApptimistStore
  let directory: AccountDirectory
  let fanOut: ForumFanOut
  let hub: SessionHub
  /// The sessions on other nodes that share the store, or nil if there are none.
  var nodes: SharedSessions?
  let clients: ClientAccounting
  let metrics: ApptimistMetrics
  let contacts = RecentContacts()
  /// The bytes that the accounts of each site have stored, or nil if they have no limit.
  var storage: AccountStorage?
  /// The free disk, of which a part is kept for known users, or nil if none is.
  var disk: DiskReserve?

  /// Delivers a user's posts, in order, to all who get them: on disk, and then to their sessions.
  ///
  /// - Parameter requester: the session that sent them, which is not notified of them.
  /// - Returns: what became of each post.
  func deliver(_ posts: [Post], from requester: Requester) async throws -> PostOutcomes {
    do {
      let recipients = try await PostRecipients(of: posts, in: directory)
      return try await deliver(posts, to: recipients, from: requester)
    } catch is ForumsChanged {
      let recipients = try await PostRecipients(of: posts, in: directory, isRemembering: false)
      return try await deliver(posts, to: recipients, from: requester)
    }
  }

  /// Delivers posts to recipients that were looked up.
  ///
  /// A remembered forum is compared with the store's as the copies for its readers are stored. Where it would give no copies,
  /// nothing is decided by it.
  ///
  /// - Throws: ``ForumsChanged`` if a remembered forum may be another one now; nothing is delivered then.
  private func deliver(
    _ posts: [Post], to recipients: PostRecipients, from requester: Requester
  ) async throws -> PostOutcomes {
    var outcomes = PostOutcomes(count: posts.count)
    let login = try requester.loggedIn()
    // Those that nothing was compared with yet.
    var remembered = recipients.remembered
    var group = CopyGroup()
    /// Refuses a post for what a key stands for.
    func refuse(_ post: Int, _ error: ErrorCode, for key: EncryptionPublicKey) throws {
      if remembered[key] != nil { throw ForumsChanged() }
      outcomes.refuse(post, error)
    }
    for (index, post) in posts.enumerated() {
      switch recipients[post.message.recipient] {
      case .user:
        if recipients.isInForum(post.message) {
          try refuse(index, .badField, for: post.message.to)
        } else if try await isRefusedStranger(login.user, to: post.message.recipient) {
          metrics.overQuota.add()
          outcomes.refuse(index, .overQuota)
        } else {
          outcomes.recordDirect(index)
          group.add([MessageCopy(post)], of: index)
        }
      case .forum(let forum) where post.message.to == post.message.recipient:
        switch try await batches(of: post, in: forum, by: requester.network) {
        case .failure(.overQuota): outcomes.refuse(index, .overQuota)
        case .failure(let error): try refuse(index, error, for: post.message.recipient)
        case .success(let batches):
          if batches.isEmpty, remembered[post.message.recipient] != nil { throw ForumsChanged() }
          for batch in batches {
            group.add(try await batch.copies(for: requester.network), of: index)
            guard group.bytes >= Self.groupBytes || group.copies.count >= Self.groupCopies else {
              continue
            }
            try await append(group, from: login, requester, if: &remembered, &outcomes)
            group = CopyGroup()
          }
        }
      case .forum: try refuse(index, .badField, for: post.message.recipient)
      case nil: outcomes.refuse(index, .notFound)
      }
    }
    try await append(group, from: login, requester, if: &remembered, &outcomes)
    for index in posts.indices where outcomes.isDirectlyQueued(index) {
      try await recordContact(posts[index].message.recipient, of: login)
    }
    return outcomes
  }

  /// Records whom a user has written to, before the user is notified that it was sent.
  private func recordContact(
    _ contact: EncryptionPublicKey, of login: AccountLogin
  ) async throws {
    guard contact != login.user, !contacts.contains(contact, of: login) else { return }
    try await store.recordContact(contact, of: login, at: clients.now())
    contacts.insert(contact, of: login)
  }

  /// The copies of a post to a forum, or the error that applies.
  private func batches(
    of post: Post, in forum: Forum, by client: ClientNetwork?
  ) async throws -> Result<[ForumFanOut.Batch], ErrorCode> {
    guard let readers = forum.readers(of: post) else { return .failure(.notPermitted) }
    // Nobody is notified, and nothing need be opened.
    if readers.isEmpty, post.origin == .version1 { return .success([]) }
    if try await isRefusedNewcomer(post.message.from) { return .failure(.overQuota) }
    if !readers.isEmpty, !clients.mayPost(post.size * readers.count, by: post.message.from) {
      metrics.overQuota.add(UInt64(readers.count))
      return .failure(.overQuota)
    }
    return try await fanOut.batches(of: post, in: forum, for: readers, by: client)
  }

  /// Returns whether the disk has so little room that a stranger's message to a user isn't stored.
  private func isRefusedStranger(
    _ sender: EncryptionPublicKey, to recipient: EncryptionPublicKey
  ) async throws -> Bool {
    guard let disk, disk.refusesStrangers else { return false }
    return try await !store.isContact(sender, of: recipient)
  }

  /// Counts bytes that a session wants to store, if its network and its account's site may have them.
  func mayStore(_ bytes: Int, for requester: Requester) async throws -> Bool {
    let login = try requester.loggedIn()
    guard clients.may(.store, requester.network, amount: bytes) else { return false }
    return try await storage?.mayStore(bytes, by: login) ?? true
  }

  /// Returns whether the disk has so little room that nothing is stored for a user who never came back.
  func isRefusedNewcomer(_ user: EncryptionPublicKey) async throws -> Bool {
    guard let disk, disk.refusesStrangers else { return false }
    return try await !store.hasReturned(user)
  }

  /// Appends copies to mailboxes, publishes them and records what became of their posts.
  ///
  /// - Parameter forums: the forums that are compared with the store's, and none afterwards.
  private func append(
    _ group: CopyGroup, from login: AccountLogin, _ requester: Requester,
    if forums: inout [EncryptionPublicKey: Forum], _ outcomes: inout PostOutcomes
  ) async throws {
    let copies = group.copies
    guard !copies.isEmpty else { return }
    let bytes = copies.reduce(0) { $0 + $1.header.count + $1.data.count }
    guard try await mayStore(bytes, for: requester) else {
      metrics.overQuota.add(UInt64(copies.count))
      for index in Set(group.posts) { outcomes.refuse(index, .overQuota) }
      return
    }
    let pieces = Self.pieces(of: copies)
    var failure: (any Error)?
    let results = await store.deliver(pieces, from: login, if: forums)
    forums = [:]
    for (piece, results) in zip(pieces, results) {
      let delivered: DeliveredPiece
      do { delivered = try results.get() } catch {
        // Sessions are notified of the pieces behind it all the same: those are on the disk.
        failure = failure ?? error
        continue
      }
      for notification in delivered.notifications {
        // Sessions that a closing on another node has ended are closed before this node's are notified.
        if notification.isClosed { await hub.closeVersion1(of: notification.user) }
        nodes?.notify(notification)
      }
      var updates: [(user: EncryptionPublicKey, update: SessionHub.Update)] = []
      for (index, result) in zip(piece.indices, delivered.results) {
        let copy = piece[index]
        outcomes.record(result, of: group.posts[index], isOwn: copy.recipient == login.user)
        guard case .delivered(let position) = result else { continue }
        let entry = MailboxEntry(
          position: position, id: copy.id, content: .message(header: copy.header, data: copy.data))
        updates.append((copy.recipient, .entry(StreamEntry(entry))))
      }
      metrics.queued.add(UInt64(updates.count))
      hub.publish(updates, except: requester.session)
    }
    if let failure { throw failure }
  }

  /// Cuts copies into pieces that take a short time each, between posts if possible.
  private static func pieces(of copies: [MessageCopy]) -> [ArraySlice<MessageCopy>] {
    var pieces: [ArraySlice<MessageCopy>] = []
    var start = 0
    var index = 0
    var bytes = 0
    while index < copies.count {
      // A piece writes the data of a post once.
      let post = copies[index...].prefix { $0.isSame(as: copies[index]) }
      let size = copies[index].data.count
      if index > start, post.endIndex - start > pieceCopies || bytes + size > pieceBytes {
        pieces.append(copies[start..<index])
        start = index
        bytes = 0
      }
      bytes += size
      while post.endIndex - start > pieceCopies {
        pieces.append(copies[start..<start + pieceCopies])
        start = start + pieceCopies
        bytes = size
      }
      index = post.endIndex
    }
    return pieces + [copies[start...]]
  }

  /// Deletes the content of a message in the requester's mailbox, and notifies the user's other sessions.
  func truncate(_ id: MessageID, from requester: Requester) async throws -> Truncation {
    let login = try requester.loggedIn()
    let (truncation, others) = try await store.truncate(id, of: login)
    if case .first(let position) = truncation {
      nodes?.notify(MailboxNotification(user: login.user, position: position, nodes: others))
      let entry = MailboxEntry(position: position, id: id, content: .truncation)
      hub.publish([(login.user, .entry(StreamEntry(entry)))], except: requester.session)
    }
    return truncation
  }
}

extension MessageCopy {
  fileprivate init(_ post: Post) {
    self.init(
      recipient: post.message.recipient, id: MessageID(header: post.header, data: post.data[...]),
      header: post.header, data: post.data)
  }
}

/// The recipients of posts that are delivered together. All of these had come before the first recipient is looked up, so that
/// one look serves them all.
private struct PostRecipients {
  private var known: [EncryptionPublicKey: MessageRecipient] = [:]
  /// The forums that were not looked up in the store, where other nodes may have changed them.
  private(set) var remembered: [EncryptionPublicKey: Forum] = [:]

  /// Looks up the recipients, and the forums that messages to users name.
  ///
  /// - Parameter isRemembering: whether forums that other nodes may have changed may come from memory.
  init(of posts: [Post], in directory: AccountDirectory, isRemembering: Bool = true) async throws {
    for post in posts {
      try await add(post.message.recipient, from: directory, isRemembering)
      guard case .user = known[post.message.recipient] else { continue }
      try await add(post.message.to, from: directory, isRemembering)
    }
  }

  private mutating func add(
    _ key: EncryptionPublicKey, from directory: AccountDirectory, _ isRemembering: Bool
  ) async throws {
    guard known[key] == nil else { return }
    switch directory.remembered(key) {
    case .forum(let forum) where directory.isShared:
      guard isRemembering else { break }
      remembered[key] = forum
      known[key] = .forum(forum)
      return
    case let recipient?:
      known[key] = recipient
      return
    case nil: break
    }
    known[key] = try await directory.read(key)
  }

  /// The user or forum with a key, or nil if there is none.
  subscript(key: EncryptionPublicKey) -> MessageRecipient? { known[key] }

  /// Returns whether a message to a user names a forum as well: such a message is ignored.
  func isInForum(_ message: PDU.Message) -> Bool {
    guard message.to != message.recipient, case .forum = known[message.to] else { return false }
    return true
  }
}

/// Copies of posts that are delivered together, each with the index of its post.
struct CopyGroup {
  private(set) var copies: [MessageCopy] = []
  private(set) var posts: [Int] = []
  private(set) var bytes = 0

  /// Adds copies of a post.
  mutating func add(_ copies: [MessageCopy], of post: Int) {
    self.copies += copies
    posts += [Int](repeating: post, count: copies.count)
    bytes += copies.reduce(0) { $0 + $1.data.count }
  }
}

/// The outcomes of posts while their copies are delivered.
struct PostOutcomes {
  private struct Progress {
    var error: ErrorCode?
    /// True if a copy was delivered now.
    var isNew = false
    /// True if a copy had been delivered before.
    var isKnown = false
    /// True if it is for a user.
    var isDirect = false
    /// The position in the sender's own mailbox.
    var own: MailboxPosition?
    /// True if that was given now.
    var isOwnNew = false
  }

  private var posts: [Progress]
  /// The positions in the sender's own mailbox that were given now.
  private(set) var own: [MailboxPosition] = []

  /// Begins with nothing delivered.
  init(count: Int) { posts = [Progress](repeating: Progress(), count: count) }

  /// Records that a post has one copy, for a user.
  mutating func recordDirect(_ post: Int) { posts[post].isDirect = true }

  /// Returns whether a post is a message to a user who has got it.
  func isDirectlyQueued(_ post: Int) -> Bool {
    posts[post].isDirect && posts[post].error == nil
  }

  /// Records that a post is refused.
  mutating func refuse(_ post: Int, _ error: ErrorCode) { posts[post].error = error }

  /// Records what became of a copy.
  mutating func record(_ result: Delivered, of post: Int, isOwn: Bool) {
    switch result {
    case .delivered(let position):
      posts[post].isNew = true
      guard isOwn else { return }
      posts[post].own = position
      posts[post].isOwnNew = true
      own.append(position)
    case .known(let position):
      posts[post].isKnown = true
      if isOwn { posts[post].own = position }
    // Readers of a forum may be nobody; to a user there is one copy.
    case .unknownRecipient: if posts[post].isDirect { posts[post].error = .notFound }
    case .refused: if posts[post].isDirect { posts[post].error = .overQuota }
    }
  }

  /// The outcome of each post.
  var outcomes: [PostOutcome] {
    posts.map { post in
      if let error = post.error { return .refused(error) }
      return .queued(isKnown: post.isKnown && !post.isNew, own: post.own, isOwnNew: post.isOwnNew)
    }
  }
}

/// Logins of users with those whom they are known to have written to: the store need not be asked at each message. Somebody who
/// takes an account over has another login, and the contacts of the one before are none of theirs.
final class RecentContacts: Sendable {
  private struct Pair: Hashable {
    let login: AccountLogin
    let contact: EncryptionPublicKey
  }

  /// The most pairs that are remembered, of some 100 bytes each.
  private static let capacity = 65_536
  private let pairs = Lock<Set<Pair>>([])

  func contains(_ contact: EncryptionPublicKey, of login: AccountLogin) -> Bool {
    pairs.withLock { $0.contains(Pair(login: login, contact: contact)) }
  }

  func insert(_ contact: EncryptionPublicKey, of login: AccountLogin) {
    pairs.withLock { pairs in
      // Those who write often are soon here again.
      if pairs.count >= Self.capacity { pairs.removeAll(keepingCapacity: true) }
      pairs.insert(Pair(login: login, contact: contact))
    }
  }
}
