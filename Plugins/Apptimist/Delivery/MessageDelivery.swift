internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Observability

/// Delivers posts to mailboxes, and tells the sessions of those who get them.
struct MessageDelivery: Sendable {
  /// The bytes of copies for forums after which they are delivered before those of further posts are
  /// made.
  private static let groupBytes = 1 << 20

  let store: ApptimistStore
  let directory: AccountDirectory
  let fanOut: ForumFanOut
  let hub: SessionHub
  let metrics: ApptimistMetrics

  /// Delivers a user's posts, in order, to all who get them: on disk, and then to their sessions.
  ///
  /// - Parameters:
  ///   - posts: posts of one user.
  ///   - session: the session that sent them, which is not told of them.
  /// - Returns: the positions in the sender's own mailbox, of those that were delivered there.
  func deliver(_ posts: [Post], from session: SessionID) async throws -> [StreamPosition] {
    guard let sender = posts.first?.message.from else { return [] }
    var own: [StreamPosition] = []
    var group: [MessageCopy] = []
    var bytes = 0
    for post in posts {
      switch try await directory.recipient(post.message.recipient) {
      case .user: if try await !isInForum(post.message) { group.append(MessageCopy(post)) }
      case .forum(let forum) where post.message.to == post.message.recipient:
        for batch in await fanOut.batches(of: post, in: forum) {
          let copies = await batch.copies()
          group += copies
          bytes += copies.reduce(0) { $0 + $1.data.count }
          guard bytes >= Self.groupBytes else { continue }
          own += try await append(group, from: sender, session)
          (group, bytes) = ([], 0)
        }
      case .forum, nil: continue
      }
    }
    return own + (try await append(group, from: sender, session))
  }

  /// Whether a message to a user names a forum as well: such a message is ignored.
  private func isInForum(_ message: PDU.Message) async throws -> Bool {
    guard message.to != message.recipient else { return false }
    guard case .forum = try await directory.recipient(message.to) else { return false }
    return true
  }

  /// Appends copies to mailboxes and publishes them.
  ///
  /// - Returns: the positions in the sender's own mailbox.
  private func append(
    _ copies: [MessageCopy], from sender: EncryptionPublicKey, _ session: SessionID
  ) async throws -> [StreamPosition] {
    guard !copies.isEmpty else { return [] }
    var own: [StreamPosition] = []
    var news: [SessionHub.News] = []
    for (copy, result) in zip(copies, try await store.deliver(copies, from: sender)) {
      guard case .delivered(let position) = result else { continue }
      if copy.recipient == sender { own.append(position) }
      let entry = StreamEntry(
        position: position, id: copy.id, content: .message(header: copy.header, data: copy.data))
      news.append(SessionHub.News(user: copy.recipient, entry: entry))
    }
    metrics.queued.add(UInt64(news.count))
    hub.publish(news, from: session)
    return own
  }

  /// Deletes the content of a message in a user's mailbox, and tells the user's other sessions.
  func truncate(
    _ id: MessageID, of user: EncryptionPublicKey, from session: SessionID
  ) async throws -> Truncation {
    let truncation = try await store.truncate(id, of: user)
    if case .first(let position) = truncation {
      let entry = StreamEntry(position: position, id: id, content: .truncation)
      hub.publish([SessionHub.News(user: user, entry: entry)], from: session)
    }
    return truncation
  }
}

extension MessageCopy {
  /// Makes the copy for the user to whom a post is addressed.
  fileprivate init(_ post: Post) {
    self.init(
      recipient: post.message.recipient, id: MessageID(header: post.header, data: post.data[...]),
      header: post.header, data: post.data)
  }
}
