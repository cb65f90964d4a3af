internal import ApptimistProtocol
internal import Cryptography

/// A message that a user sent.
struct Post: Sendable {
  /// The device that sent it.
  enum Origin: Hashable, Sendable {
    case version1
    /// A device of version 2, which knows the request by a number; posts to forums are signed with the key.
    case version2(request: UInt32, signer: AuthenticationPublicKey)
  }

  let message: PDU.Message
  /// The header of version 1 in clear.
  let header: [UInt8]
  /// The data as it came, boxed for somebody else.
  let data: [UInt8]
  let origin: Origin

  /// Takes a message that came; nil if it does not name the user as its sender.
  init?(_ message: PDU.Message, _ received: ReceivedPDU, by user: EncryptionPublicKey) {
    guard message.from == user else { return nil }
    self.message = message
    header = received.header
    data = received.data
    origin = .version1
  }

  /// Takes a message that a device of version 2 sent; nil if it does not name the user as its sender.
  init?(_ received: ReceivedRequest, by login: AccountLogin) {
    guard case .message(let message) = received.body, message.from == login.user else { return nil }
    self.message = message
    header = PDU.message(message).encoded()
    data = received.data
    origin = .version2(request: received.request.number, signer: login.authenticationKey)
  }

  /// The length of header and data, in bytes.
  var size: Int { header.count + data.count }
}

/// The outcome of a post.
enum PostOutcome: Hashable, Sendable {
  /// All copies are on disk.
  ///
  /// - isKnown: whether all of them had been queued before.
  /// - own: the position of the one in the sender's own mailbox.
  /// - isOwnNew: whether that one was queued now.
  case queued(isKnown: Bool, own: MailboxPosition?, isOwnNew: Bool)
  /// It is refused.
  case refused(ErrorCode)
}

/// Posts that are being queued, and all that came behind them.
struct Posting {
  /// The posts that are being queued.
  let posts: [Post]
  /// Their outcomes, in order.
  let outcomes = QueryReply<[PostOutcome]>()
  /// Posts that came meanwhile, in order: they are queued together next.
  private var gathered: [Post] = []
  private var gatheredBytes = 0
  /// A PDU that came behind all of these, and waits for them.
  var postponed: DeferredPDU?

  init(posts: [Post]) { self.posts = posts }

  /// Asks to queue the posts.
  var query: Query { .post(posts, outcomes) }

  /// Adds a PDU that came: a post of the user to the others, if the limits allow it; anything else is
  /// postponed.
  mutating func add(_ received: ReceivedPDU, of user: EncryptionPublicKey, _ limits: SessionLimits)
  {
    guard case .message(let message) = received.pdu,
      let post = Post(message, received, by: user), gather(post, limits)
    else {
      postponed = .pdu(received)
      return
    }
  }

  /// Adds a post to the others.
  ///
  /// - Returns: false if the limits do not allow it.
  mutating func gather(_ post: Post, _ limits: SessionLimits) -> Bool {
    guard gathered.count < limits.batchPosts, gatheredBytes + post.size <= limits.batchBytes else {
      return false
    }
    gathered.append(post)
    gatheredBytes += post.size
    return true
  }

  /// Asks to queue the gathered posts.
  ///
  /// - Returns: these posts, or nil if there are none.
  func next(_ context: inout SessionContext) -> Posting? {
    guard !gathered.isEmpty else { return nil }
    var next = Posting(posts: gathered)
    context.perform(next.query)
    next.postponed = postponed
    return next
  }
}
