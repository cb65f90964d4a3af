internal import ApptimistProtocol
internal import Cryptography
internal import Observability
internal import ServiceKit
internal import Storage
internal import Time

/// Answers what sessions ask: all that is done with the store, the other sessions, and the
/// identity provider.
final class Backend: Sendable {
  let store: ApptimistStore
  let hub: Hub
  let files: FileDesk
  let keys: ServiceKeys
  /// Where devices go when the server stops; nil: nowhere in particular.
  let publicURI: String?
  let metrics: ApptimistMetrics
  private let accounts: AccountKinds
  private let turns: Turns
  private let forums: ForumDesk
  private let identity: IdentityProvider
  private let configuration: ApptimistConfiguration
  private let clock: @Sendable () -> Timestamp
  private let log: Log

  init(
    _ context: ServiceContext, _ configuration: ApptimistConfiguration, keys: ServiceKeys
  ) throws {
    self.configuration = configuration
    self.keys = keys
    store = ApptimistStore(store: context.store, limits: configuration.store)
    hub = Hub(limit: configuration.sessions)
    accounts = AccountKinds(store)
    turns = Turns()
    let cache = ForumCache(store)
    files = FileDesk(
      store, accounts, cache, turns, keys: keys,
      locks: LockTable(lease: configuration.lockLease, limit: configuration.locks))
    forums = ForumDesk(cache, keys: keys)
    identity = try IdentityProvider(configuration, clock: context.clock)
    metrics = ApptimistMetrics(context.metrics, hub: hub)
    publicURI = context.publicURL.map { Self.uri(ofServer: $0, path: configuration.path) }
    clock = context.clock
    log = context.log
  }

  /// The URI of sessions on a server.
  private static func uri(ofServer url: String, path: String) -> String {
    // `http` becomes `ws`, and `https` `wss`.
    "ws" + url.dropFirst("http".count) + path
  }

  // MARK: - Questions

  /// Answers a question of a session.
  ///
  /// - Parameters:
  ///   - question: the question.
  ///   - ephemeralKey: the key of the session's device.
  ///   - session: which session asks.
  func answer(
    _ question: Question, of ephemeralKey: EncryptionPublicKey, in session: SessionID
  ) async -> Answer {
    do {
      return try await tryToAnswer(question, of: ephemeralKey, in: session)
    } catch {
      // The store is closed once all sessions are; what is left of them is no failure.
      if (error as? StoreError)?.code != .closed {
        log.error("request failed", ["request": question.name, "cause": "\(error)"])
        metrics.noteFailure()
      }
      if case .file = question { return .file(.refused(.internalError)) }
      return .failed
    }
  }

  private func tryToAnswer(
    _ question: Question, of ephemeralKey: EncryptionPublicKey, in session: SessionID
  ) async throws -> Answer {
    switch question {
    case .claim:
      let until = clock().milliseconds + configuration.ephemeralKeyAge.wholeMilliseconds
      return .claimed(
        try await store.remember(
          hash(of: ephemeralKey), until: Timestamp(milliseconds: until)))
    case .register(let new, let name, let uid):
      return .registered(try await register(new, name: name, uid: uid))
    case .account(let key): return .account(try await store.account(key))
    case .start(let user, let head, let max):
      return .started(try await store.start(of: user, head: head, max: max))
    case .makeForum(let new, let name, let author):
      _ = try await store.createForum(
        new.key, authenticationKey: new.authenticationKey, name: name.text,
        author: author)
      return .done
    case .deleteForum(let key, let user):
      if try await store.deleteForum(key, by: user) { files.forget(key) }
      return .done
    case .post(let posts): return .posted(try await pass(posts, from: session))
    case .truncate(let id, let user):
      let truncation = try await store.truncate(id, of: user)
      if case .first(let position) = truncation {
        let entry = StreamEntry(position: position, id: id, content: .truncation)
        hub.publish([Hub.News(user: user, entry: entry)], from: session)
      }
      return .truncated(truncation)
    case .vouch(let subject, let voucher):
      _ = try await store.vouch(for: subject, by: voucher)
      return .done
    case .revoke(let subject, let voucher):
      try await store.revokeVouch(for: subject, by: voucher)
      return .done
    case .vouchers(let subject): return .vouchers(try await store.vouchers(of: subject))
    case .searchName(let name, let max):
      guard let name = name.text else { return .found([]) }
      guard name.utf8.contains(where: { [UInt8(ascii: "*"), UInt8(ascii: "?")].contains($0) })
      else {
        return .found(try await store.search(name: name, max: max))
      }
      // It looks at every name: one at a time, or nothing else could be read meanwhile.
      return try await turns.take(.globSearch) {
        .found(try await store.search(name: name, max: max))
      }
    case .searchUid(let uid, let max):
      guard let uid = uid.text else { return .found([]) }
      return .found(try await store.search(uid: uid, max: max))
    case .searchKey(let key):
      return .found(try await store.search(key: key).map { [$0] } ?? [])
    case .file(let request): return .file(try await files.answer(request, in: session))
    }
  }

  private func hash(of ephemeralKey: EncryptionPublicKey) throws -> EphemeralKeyHash {
    guard let hash = EphemeralKeyHash(keys.hash(ofEphemeral: ephemeralKey)) else {
      throw BackendError.wrongHash
    }
    return hash
  }

  /// Makes an account, if the identity provider accepts it.
  private func register(_ new: PDU.New, name: AccountName, uid: String) async throws -> Bool {
    var invitation: InvitationHash?
    switch await identity.judge(uid: uid, token: new.token) {
    case .refused: return false
    case .accepted: break
    case .invited(let hash): invitation = hash
    }
    let made = try await store.createUser(
      new.key, authenticationKey: new.authenticationKey, name: name.text, uid: uid,
      invitation: invitation, at: clock())
    return made == .created || made == .sameAgain
  }

  // MARK: - Messages

  /// At how many bytes of copies for forums they are queued before those of further posts are made.
  private static let groupBytes = 1 << 20

  /// Queues a user's messages for all who get them, on disk, and then tells their sessions.
  ///
  /// - Returns: the places in the sender's own queue, of those that were queued there.
  private func pass(_ posts: [Post], from session: SessionID) async throws -> [StreamPosition] {
    var own: [StreamPosition] = []
    var group: [MessageCopy] = []
    var bytes = 0
    for post in posts {
      let batches = try await forumBatches(of: post)
      for batch in batches {
        let copies = await batch.copies()
        group += copies
        bytes += copies.reduce(0) { $0 + $1.data.count }
        guard bytes >= Self.groupBytes else { continue }
        own += try await enqueue(group, from: post.message.from, session)
        (group, bytes) = ([], 0)
      }
      if batches.isEmpty, let copy = try await directCopy(of: post) { group.append(copy) }
    }
    guard let sender = posts.first?.message.from, !group.isEmpty else { return own }
    return own + (try await enqueue(group, from: sender, session))
  }

  /// What the readers of a forum get; nothing if there is none.
  private func forumBatches(of post: Post) async throws -> [ForumDesk.Batch] {
    let message = post.message
    // What is no known user's is mostly a forum's, which is so looked up only once.
    guard message.to == message.recipient, !accounts.isKnownUser(message.recipient) else {
      return []
    }
    return try await forums.batches(of: post)
  }

  /// What a user gets; nil if there is none.
  private func directCopy(of post: Post) async throws -> MessageCopy? {
    let message = post.message
    guard try await accounts.kind(of: message.recipient) == .user else { return nil }
    if message.to != message.recipient, try await accounts.kind(of: message.to) == .forum {
      return nil
    }
    return MessageCopy(
      recipient: message.recipient, id: MessageID(header: post.header, data: post.data[...]),
      header: post.header, data: post.data)
  }

  private func enqueue(
    _ copies: [MessageCopy], from sender: EncryptionPublicKey, _ session: SessionID
  ) async throws -> [StreamPosition] {
    var own: [StreamPosition] = []
    var news: [Hub.News] = []
    for (copy, result) in zip(copies, try await store.enqueue(copies, from: sender)) {
      guard case .queued(let position) = result else { continue }
      if copy.recipient == sender { own.append(position) }
      let entry = StreamEntry(
        position: position, id: copy.id, content: .message(header: copy.header, data: copy.data))
      news.append(Hub.News(user: copy.recipient, entry: entry))
    }
    metrics.noteQueued(news.count)
    hub.publish(news, from: session)
    return own
  }

  /// A part of a user's queue; nil: it can't be read.
  func page(of user: EncryptionPublicKey, after position: StreamPosition) async -> StreamPage? {
    do {
      return try await store.page(
        of: user, after: position, maxBytes: configuration.session.pageBytes,
        maxEntries: configuration.session.pageEntries)
    } catch {
      log.error("stream ended: the queue can't be read", ["cause": "\(error)"])
      metrics.noteFailure()
      return nil
    }
  }

  // MARK: - Sessions

  /// Whether a device with this ephemeral key may connect.
  func mayServe(_ ephemeralKey: EncryptionPublicKey) async throws -> Bool {
    // A second way to write a key would be a second use of it.
    guard ephemeralKey.isCanonical, !ephemeralKey.isLowOrder,
      ephemeralKey != keys.identity.encryptionKey
    else { return false }
    return try await store.mayServe(ephemeral: ephemeralKey, hash: hash(of: ephemeralKey))
  }

  /// Forgets a session that is over.
  func ended(_ session: SessionID, user: EncryptionPublicKey?) {
    guard let user else { return }
    hub.leave(session, of: user)
    files.ended(session)
  }

  /// Deletes what is too old.
  func tidy() async throws {
    while try await store.expire(at: clock()) { try Task.checkCancellation() }
  }
}

/// What the program itself got wrong.
enum BackendError: Error {
  /// A hash hasn't the length of one.
  case wrongHash
}

extension Question {
  /// What is asked, for the log: nothing of what a device sent.
  fileprivate var name: String {
    switch self {
    case .claim: "claim"
    case .register: "new"
    case .account: "login"
    case .start: "stream"
    case .makeForum: "new forum"
    case .deleteForum: "del"
    case .post: "message"
    case .truncate: "truncate"
    case .vouch, .revoke: "vouch"
    case .vouchers: "vouchers"
    case .searchName, .searchUid, .searchKey: "search"
    case .file: "file"
    }
  }
}

extension Duration {
  /// Whole milliseconds.
  var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
