internal import ApptimistProtocol
internal import Cryptography

/// Makes the copies of what is posted in forums.
struct ForumDesk: Sendable {
  /// A part of the copies of a post: all at once could be gigabytes.
  struct Batch: Sendable {
    fileprivate let post: Post
    fileprivate let readers: ArraySlice<EncryptionPublicKey>
    /// What seals the data anew for each reader; nil: it is passed on as it is.
    fileprivate let sealing: Sealing?

    /// Up to how many readers get their copies from an event loop, which that keeps for some
    /// microseconds each; a change of threads would take longer.
    private static let fewReaders = 16

    /// Makes the copies; many, or such as have to be sealed, not on an event loop.
    nonisolated(nonsending) func copies() async -> [MessageCopy] {
      guard sealing == nil, readers.count <= Self.fewReaders, post.data.count <= 4 << 10 else {
        return await copiesElsewhere()
      }
      return makeCopies()
    }

    @concurrent private func copiesElsewhere() async -> [MessageCopy] { makeCopies() }

    private func makeCopies() -> [MessageCopy] {
      readers.compactMap { reader in
        let header = PDU.Message.header(post.header, for: reader)
        guard let data = sealing.map({ $0.seal(for: reader) }) ?? post.data else { return nil }
        return MessageCopy(
          recipient: reader, id: MessageID(header: header, data: data[...]), header: header,
          data: data)
      }
    }
  }

  /// Seals the content of a post with a forum's secret.
  fileprivate struct Sealing: Sendable {
    let content: [UInt8]
    let forum: EncryptionKeyPair
    let nonce: BoxNonce

    func seal(for reader: EncryptionPublicKey) -> [UInt8]? {
      BoxKey(own: forum, peer: reader)?.seal(content, nonce: nonce)
    }
  }

  /// How many bytes of sealed data are held at once, if one copy isn't more.
  private static let batchBytes = 16 << 20

  private let forums: ForumCache
  private let keys: ServiceKeys

  init(_ forums: ForumCache, keys: ServiceKeys) {
    self.forums = forums
    self.keys = keys
  }

  /// The copies of a post, to be made and queued batch by batch.
  ///
  /// - Parameter post: what a user sent to a forum.
  /// - Returns: nothing if the sender may not post, or if the data doesn't open with the forum's
  ///   secret, which the service was given.
  func batches(of post: Post) async throws -> [Batch] {
    guard let forum = try await forums.forum(post.message.recipient),
      let readers = ForumRouting.readers(of: forum, for: post.message.from), !readers.isEmpty
    else { return [] }
    let sorted = readers.sorted()
    guard let boxed = forum.boxedSecret else {
      return [Batch(post: post, readers: sorted[...], sealing: nil)]
    }
    guard let sealing = await open(post, boxed) else { return [] }
    let count = max(1, Self.batchBytes / (post.data.count + 256))
    return stride(from: 0, to: sorted.count, by: count).map { start in
      Batch(
        post: post, readers: sorted[start..<min(start + count, sorted.count)], sealing: sealing)
    }
  }

  /// Opens a post with its forum's secret.
  ///
  /// - Parameter boxed: the secret as it is stored.
  @concurrent private func open(_ post: Post, _ boxed: [UInt8]) async -> Sealing? {
    guard let sealed = keys.storage.open(boxed),
      var secret = SealedBox.open(sealed, with: keys.encryption)
    else { return nil }
    defer { wipe(&secret) }
    let nonce = keys.identity.dataNonce
    guard let forum = EncryptionKeyPair(secret: secret, for: .session),
      let content = BoxKey(own: forum, peer: post.message.from)?.open(post.data, nonce: nonce)
    else { return nil }
    return Sealing(content: content, forum: forum, nonce: nonce)
  }
}
