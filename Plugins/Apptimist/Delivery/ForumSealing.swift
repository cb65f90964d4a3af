internal import ApptimistProtocol
internal import Cryptography

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
    (self.post, self.forum, self.keys) = (post, forum, keys)
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
