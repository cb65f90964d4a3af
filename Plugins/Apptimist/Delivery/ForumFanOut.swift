internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography

/// Makes the copies of posts for the readers of forums.
struct ForumFanOut: Sendable {
  /// A part of the copies of a post: all at once could be gigabytes.
  struct Batch: Sendable {
    fileprivate let post: Post
    fileprivate let readers: ArraySlice<EncryptionPublicKey>
    /// Seals the data anew for each reader, or nil if it is passed on as it is.
    fileprivate let sealing: ForumSealing?

    /// The most readers whose copies are made on an event loop, which that keeps for some
    /// microseconds each; a change of threads would take longer.
    private static let fewReaders = 16

    /// Makes the copies; many of them, or sealed ones, are not made on an event loop.
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

  /// The most bytes of sealed data that are held at once, unless one copy has more.
  private static let batchBytes = 16 << 20

  let keys: ServiceKeys
  let store: ApptimistStore

  /// The copies of a post, to be made and delivered batch by batch.
  ///
  /// - Parameters:
  ///   - post: a user's message to a forum, who may post there.
  ///   - forum: the forum.
  ///   - readers: those who get it.
  /// - Returns: the error that applies if the service was given the forum's secret, and the data does not open with it or
  ///   is not signed.
  func batches(
    of post: Post, in forum: Forum, for readers: Set<EncryptionPublicKey>
  ) async throws -> Result<[Batch], ErrorCode> {
    let sorted = readers.sorted()
    guard let boxed = forum.boxedSecret else {
      return .success(
        sorted.isEmpty ? [] : [Batch(post: post, readers: sorted[...], sealing: nil)])
    }
    var sealing: ForumSealing
    do throws(ErrorCode) {
      sealing = try await open(post, boxed)
    } catch {
      return .failure(error)
    }
    sealing.closed = try await store.closed(among: sorted)
    let count = max(1, Self.batchBytes / (post.data.count + 256))
    return .success(
      stride(from: 0, to: sorted.count, by: count).map { start in
        Batch(
          post: post, readers: sorted[start..<min(start + count, sorted.count)], sealing: sealing)
      })
  }

  /// Opens a post with its forum's secret.
  ///
  /// - Parameter boxed: the secret as it is stored.
  /// - Throws: the error that applies.
  @concurrent private func open(
    _ post: Post, _ boxed: [UInt8]
  ) async throws(ErrorCode) -> ForumSealing {
    guard let sealed = keys.storage.open(boxed),
      var secret = SealedBox.open(sealed, with: keys.encryption)
    else { throw .dataDoesNotOpen }
    defer { wipe(&secret) }
    guard let forum = EncryptionKeyPair(secret: secret, for: .session) else {
      throw .dataDoesNotOpen
    }
    return try ForumSealing(post, forum: forum, keys)
  }
}
