internal import ApptimistProtocol
internal import Cryptography

/// Posts that are being queued, and all that came behind them.
struct Posting {
  /// The posts that are being queued.
  let posts: [Post]
  /// Posts that came meanwhile, in order: they are queued together next.
  private var gathered: [Post] = []
  private var gatheredBytes = 0
  /// A PDU that came behind all of these, and waits for them.
  var postponed: PostponedPDU?

  init(posts: [Post]) { self.posts = posts }

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
    context.ask(.post(gathered))
    var next = Posting(posts: gathered)
    next.postponed = postponed
    return next
  }
}
