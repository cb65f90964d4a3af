internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Observability

/// Delivers posts to mailboxes, and tells the sessions of those who get them.
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
  let clients: ClientAccounting
  let metrics: ApptimistMetrics

  /// Delivers a user's posts, in order, to all who get them: on disk, and then to their sessions.
  ///
  /// - Parameters:
  ///   - posts: posts of one user.
  ///   - requester: the session that sent them, which is not told of them.
  /// - Returns: the positions in the sender's own mailbox, of those that were delivered there.
  func deliver(_ posts: [Post], from requester: Requester) async throws -> [StreamPosition] {
    guard let sender = posts.first?.message.from else { return [] }
    var own: [StreamPosition] = []
    var group: [MessageCopy] = []
    var bytes = 0
    for post in posts {
      switch try await directory.recipient(post.message.recipient) {
      case .user: if try await !isInForum(post.message) { group.append(MessageCopy(post)) }
      case .forum(let forum) where post.message.to == post.message.recipient:
        guard mayPost(post, in: forum) else { continue }
        for batch in await fanOut.batches(of: post, in: forum) {
          let copies = await batch.copies()
          group += copies
          bytes += copies.reduce(0) { $0 + $1.data.count }
          guard bytes >= Self.groupBytes || group.count >= Self.groupCopies else { continue }
          own += try await append(group, from: sender, requester)
          (group, bytes) = ([], 0)
        }
      case .forum, nil: continue
      }
    }
    return own + (try await append(group, from: sender, requester))
  }

  /// Whether the copies of a post are within what its sender may send.
  private func mayPost(_ post: Post, in forum: Forum) -> Bool {
    let readers = forum.readers(for: post.message.from)?.count ?? 0
    guard readers > 0, !clients.mayPost(post.size * readers, by: post.message.from) else {
      return true
    }
    metrics.overQuota.add(UInt64(readers))
    return false
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
    _ copies: [MessageCopy], from sender: EncryptionPublicKey, _ requester: Requester
  ) async throws -> [StreamPosition] {
    guard !copies.isEmpty else { return [] }
    let bytes = copies.reduce(0) { $0 + $1.header.count + $1.data.count }
    guard clients.mayStore(bytes, from: requester.network) else {
      metrics.overQuota.add(UInt64(copies.count))
      return []
    }
    var own: [StreamPosition] = []
    let pieces = Self.pieces(of: copies)
    var failure: (any Error)?
    for (piece, results) in zip(pieces, await store.deliver(pieces, from: sender)) {
      let delivered: [Delivered]
      do { delivered = try results.get() } catch {
        // Sessions are told of the pieces behind it all the same: those are on the disk.
        failure = failure ?? error
        continue
      }
      var news: [SessionHub.News] = []
      for (copy, result) in zip(piece, delivered) {
        guard case .delivered(let position) = result else { continue }
        if copy.recipient == sender { own.append(position) }
        let entry = StreamEntry(
          position: position, id: copy.id, content: .message(header: copy.header, data: copy.data))
        news.append(SessionHub.News(user: copy.recipient, entry: entry))
      }
      metrics.queued.add(UInt64(news.count))
      hub.publish(news, from: requester.session)
    }
    if let failure { throw failure }
    return own
  }

  /// Cuts copies into pieces, each of which is delivered in a short time, between posts where that can be.
  private static func pieces(of copies: [MessageCopy]) -> [ArraySlice<MessageCopy>] {
    var pieces: [ArraySlice<MessageCopy>] = []
    var (start, index, bytes) = (0, 0, 0)
    while index < copies.count {
      // A piece writes the data of a post once.
      let post = copies[index...].prefix { $0.isSame(as: copies[index]) }
      let size = copies[index].data.count
      if index > start, post.endIndex - start > pieceCopies || bytes + size > pieceBytes {
        pieces.append(copies[start..<index])
        (start, bytes) = (index, 0)
      }
      bytes += size
      while post.endIndex - start > pieceCopies {
        pieces.append(copies[start..<start + pieceCopies])
        (start, bytes) = (start + pieceCopies, size)
      }
      index = post.endIndex
    }
    return pieces + [copies[start...]]
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
