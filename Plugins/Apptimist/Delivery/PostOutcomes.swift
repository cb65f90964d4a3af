internal import ApptimistProtocol

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
    var own: StreamPosition?
    /// True if that was given now.
    var isOwnNew = false
  }

  private var posts: [Progress]
  /// The positions in the sender's own mailbox that were given now.
  private(set) var own: [StreamPosition] = []

  /// Begins with nothing delivered.
  init(count: Int) { posts = [Progress](repeating: Progress(), count: count) }

  /// Notes that a post has one copy, for a user.
  mutating func noteDirect(_ post: Int) { posts[post].isDirect = true }

  /// Notes that a post is refused.
  mutating func refuse(_ post: Int, _ error: ErrorCode) { posts[post].error = error }

  /// Notes what became of a copy.
  mutating func note(_ result: Delivered, of post: Int, isOwn: Bool) {
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
