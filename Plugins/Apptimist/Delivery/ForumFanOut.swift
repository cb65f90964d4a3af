internal import ApptimistProtocol
internal import Cryptography
internal import Formats
internal import Platform

/// Makes the copies of posts for the readers of forums.
struct ForumFanOut: Sendable {
  /// A part of the copies of a post: all at once could be gigabytes.
  struct Batch: Sendable {
    fileprivate let post: Post
    fileprivate let readers: ArraySlice<EncryptionPublicKey>
    /// Seals the data anew for each reader, or nil if it is passed on as it is.
    fileprivate let sealing: ForumSealing?
    fileprivate let threads: ThreadPool

    /// The most readers whose copies are made on an event loop. A copy takes some microseconds
    /// there, and a change of threads would take longer.
    private static let fewReaders = 16
    /// The most copies that are sealed in one turn of a client; one takes up to 0.2 ms.
    private static let turn = 64

    /// Makes the copies; many of them, or sealed ones, are not made on an event loop.
    ///
    /// - Parameter client: the client in whose turns they are sealed.
    /// - Throws: ``SystemError`` if there is no thread to seal them on.
    nonisolated(nonsending) func copies(for client: ClientNetwork?) async throws -> [MessageCopy] {
      guard sealing != nil else {
        return readers.count <= Self.fewReaders && post.data.count <= 4 << 10
          ? makeCopies(readers) : await copiesElsewhere()
      }
      var copies: [MessageCopy] = []
      copies.reserveCapacity(readers.count)
      for start in stride(from: readers.startIndex, to: readers.endIndex, by: Self.turn) {
        let readers = readers[start..<min(start + Self.turn, readers.endIndex)]
        copies += try await threads.run(for: client) { makeCopies(readers) }
      }
      return copies
    }

    @concurrent private func copiesElsewhere() async -> [MessageCopy] { makeCopies(readers) }

    private func makeCopies(_ readers: ArraySlice<EncryptionPublicKey>) -> [MessageCopy] {
      readers.compactMap { reader in
        let header = PDU.Message.header(post.header, for: reader)
        guard let data = sealing.map({ $0.seal(for: reader) }) ?? post.data else { return nil }
        return MessageCopy(
          recipient: reader, id: MessageID(header: header, data: data[...]), header: header,
          data: data)
      }
    }
  }

  /// The most bytes of sealed data that are held at once, unless one copy has more.
  private static let batchBytes = 1 << 20

  let keys: ServiceKeys
  let store: ApptimistStore
  /// Opens and seals posts, beside the event loops.
  private let threads = ThreadPool(named: "awd-forums", niceness: 5)

  init(keys: ServiceKeys, store: ApptimistStore) {
    self.keys = keys
    self.store = store
  }

  /// The copies of a post, to be made and delivered batch by batch.
  ///
  /// - Parameters:
  ///   - post: a user's message to a forum, who may post there.
  ///   - client: the client in whose turn the post is opened.
  /// - Returns: the error that applies if the service was given the forum's secret, and the data does not open with it or
  ///   is not signed.
  func batches(
    of post: Post, in forum: Forum, for readers: Set<EncryptionPublicKey>,
    by client: ClientNetwork?
  ) async throws -> Result<[Batch], ErrorCode> {
    let sorted = readers.sorted()
    guard let boxed = forum.boxedSecret else {
      return .success(
        sorted.isEmpty
          ? [] : [Batch(post: post, readers: sorted[...], sealing: nil, threads: threads)])
    }
    switch try await threads.run(for: client, { open(post, boxed) }) {
    case .failure(let error): return .failure(error)
    case .success(var sealing):
      sealing.closed = try await store.closed(among: sorted)
      let count = max(1, Self.batchBytes / (post.data.count + 256))
      return .success(
        stride(from: 0, to: sorted.count, by: count).map { start in
          let readers = sorted[start..<min(start + count, sorted.count)]
          return Batch(post: post, readers: readers, sealing: sealing, threads: threads)
        })
    }
  }

  /// Opens a post with its forum's secret.
  ///
  /// - Returns: the error that applies if it does not open.
  private func open(_ post: Post, _ boxed: [UInt8]) -> Result<ForumSealing, ErrorCode> {
    guard let sealed = keys.storage.open(boxed),
      var secret = SealedBox.open(sealed, with: keys.encryption)
    else { return .failure(.dataDoesNotOpen) }
    defer { wipe(&secret) }
    guard let forum = EncryptionKeyPair(secret: secret, for: .session) else {
      return .failure(.dataDoesNotOpen)
    }
    return Result { () throws(ErrorCode) in try ForumSealing(post, forum: forum, keys) }
  }
}

extension Forum {
  /// The readers of a post (page "Forums and events").
  ///
  /// - Returns: the readers in no particular order, or nil if the sender may not post.
  func readers(of post: Post) -> Set<EncryptionPublicKey>? {
    let sender = post.message.from
    guard !isClosed || post.origin != .version1 else { return nil }
    guard moderators.isEmpty else { return moderators.contains(sender) ? subscribers : moderators }
    let mayPost = author == sender || editors.contains(sender) || subscribers.contains(sender)
    return mayPost ? subscribers : nil
  }
}

/// Seals the content of a post anew for each reader, with the forum's secret (page "Forums").
struct ForumSealing: Sendable {
  private let post: Post
  /// The identifier of the post as it was sent.
  private let id: MessageID
  private let content: SignedContent
  private let forum: EncryptionKeyPair
  private let keys: ServiceKeys
  /// The readers whose accounts have no version 1.
  var closed: Set<EncryptionPublicKey> = []

  private typealias SignedContent = Version2.SignedContent

  /// Opens a post: in version 1 its box, in version 2 a sealed post that its author has signed.
  ///
  /// - Throws: `.dataDoesNotOpen` or `.wrongProof`.
  init(_ post: Post, forum: EncryptionKeyPair, _ keys: ServiceKeys) throws(ErrorCode) {
    self.post = post
    self.forum = forum
    self.keys = keys
    id = MessageID(header: post.header, data: post.data[...])
    switch post.origin {
    case .version1:
      let box = BoxKey(own: forum, peer: post.message.from)
      guard let content = box?.open(post.data, nonce: keys.identity.dataNonce) else {
        throw .dataDoesNotOpen
      }
      self.content = SignedContent(content, signature: Signature())
    case .version2(_, let signer):
      let service = keys.identity.encryptionKey
      let sealing = Version2.Sealing(.post, of: post.message, at: service)
      guard let content = sealing.open(post.data, with: forum).flatMap(SignedContent.init) else {
        throw .dataDoesNotOpen
      }
      guard content.isSigned(post.message, at: service, by: signer) else { throw .wrongProof }
      self.content = content
    }
  }

  /// Seals the copy for a reader; nil for a key with which no secret can be agreed on.
  func seal(for reader: EncryptionPublicKey) -> [UInt8]? {
    guard closed.contains(reader) else {
      return BoxKey(own: forum, peer: reader)?.seal(content.content, nonce: keys.identity.dataNonce)
    }
    let message = PDU.Message(
      time: post.message.time, recipient: reader, to: post.message.to, from: post.message.from)
    let plain = content.bytes
    // The same post gives the same copy, so that a reader who has it is not sent another.
    let digest = SecretDigest(of: [
      .secret(keys.copySecret), .bytes(id.bytes + reader.bytes), .secret(plain),
    ])
    return digest.flatMap {
      Version2.Sealing(.copy, of: message, at: keys.identity.encryptionKey).seal(
        plain, with: forum, fresh: EncryptionKeyPair($0))
    }
  }
}
