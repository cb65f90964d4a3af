internal import ApptimistProtocol
internal import Cryptography

/// The rules by which a message is opened and believed, without I/O.
struct MessageOpening {
  let participant: Participant
  /// The pair of the forum that the message was written to, if the user has it.
  let forum: EncryptionKeyPair?
  /// The known accounts of the author, of the forum or user that it was written to, and of the user.
  let author: KnownAccount
  let recipient: KnownAccount
  let own: KnownAccount

  /// Returns whether the author's signature decides about a message, so that the key of it must be known.
  static func needsAuthor(_ message: DeviceMessage) -> Bool {
    switch Version2.Sealing.kind(of: message.box) {
    case .post, .copy: true
    case .message, nil: false
    }
  }

  /// Opens a message.
  ///
  /// - Parameters:
  ///   - message: the message.
  ///   - takesDoubtful: whether the user wants to see what may be forged.
  /// - Throws: `.doesNotOpen`, `.forged`, `.doubtful`.
  func open(_ message: DeviceMessage, takesDoubtful: Bool) throws(DeviceError) -> OpenedMessage {
    let own = participant.keys.encryption
    switch Version2.Sealing.kind(of: message.box) {
    case .message:
      return OpenedMessage(data: try unseal(.message, message, with: own), protection: .sealed)
    case .post:
      guard let forum, forum.publicKey == message.to else { throw .doesNotOpen }
      return try post(message, try unseal(.post, message, with: forum), isCopy: false)
    case .copy:
      return try post(message, try unseal(.copy, message, with: own), isCopy: true)
    case nil: return try openVersion1(message, takesDoubtful: takesDoubtful)
    }
  }

  private func unseal(
    _ kind: Version2.Sealing.Kind, _ message: DeviceMessage, with pair: EncryptionKeyPair
  ) throws(DeviceError) -> [UInt8] {
    let sealing = Version2.Sealing(
      kind, of: message.header(for: participant.user), at: participant.service.encryptionKey)
    guard let plain = sealing.open(message.box, with: pair) else { throw .doesNotOpen }
    return plain
  }

  private func post(
    _ message: DeviceMessage, _ plain: [UInt8], isCopy: Bool
  ) throws(DeviceError) -> OpenedMessage {
    guard let post = Version2.SignedContent(plain) else { throw .doesNotOpen }
    if post.signature.isZero {
      // A post of version 1, which none who has closed it writes.
      guard isCopy, !author.isClosed, !recipient.isClosed else { throw .forged }
      return OpenedMessage(data: post.content, protection: .unsigned)
    }
    let isSigned = author.authenticationKey.map {
      post.isSigned(
        message.header(for: participant.user), at: participant.service.encryptionKey, by: $0)
    }
    guard isSigned == true else { throw .forged }
    return OpenedMessage(data: post.content, protection: .signed)
  }

  private func openVersion1(
    _ message: DeviceMessage, takesDoubtful: Bool
  ) throws(DeviceError) -> OpenedMessage {
    let isPost = message.to != participant.user
    // Between two keys there is one box key: it doesn't matter who wrote.
    var pairs = [(participant.keys.encryption, isPost ? message.to : message.from)]
    if let forum, forum.publicKey == message.to { pairs.append((forum, message.from)) }
    var data: [UInt8]?
    for (pair, peer) in pairs where data == nil {
      data = BoxKey(own: pair, peer: peer)?.open(message.box, nonce: participant.service.dataNonce)
    }
    guard let data else { throw .doesNotOpen }
    guard author.isClosed || isPost && recipient.isClosed else {
      return OpenedMessage(data: data, protection: .version1)
    }
    // A service that has the forum's secret boxes so for readers who speak version 1.
    if isPost, recipient.isEscrowed, !own.isClosed {
      return OpenedMessage(data: data, protection: .unsigned)
    }
    guard takesDoubtful else { throw .doubtful }
    return OpenedMessage(data: data, protection: .doubtful)
  }
}
