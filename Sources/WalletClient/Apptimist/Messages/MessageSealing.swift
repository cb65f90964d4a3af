internal import ApptimistProtocol
internal import Cryptography
internal import Platform

/// The rules by which a message is sealed, without I/O.
struct MessageSealing {
  let participant: Participant
  /// The known account of the user or forum that it is for.
  let recipient: KnownAccount
  /// True if the service speaks version 1 alone.
  let isVersion1: Bool

  /// Seals a message.
  ///
  /// - Parameters:
  ///   - data: the content.
  ///   - time: seconds since 1970.
  ///   - readsVersion1Only: whether the app was told that the recipient's devices speak version 1 alone.
  /// - Throws: `.unsendable` if the recipient's key is of low order.
  func seal(
    _ data: [UInt8], time: UInt64, readsVersion1Only: Bool
  ) throws(DeviceError) -> OutgoingMessage {
    let keys = participant.keys
    let header = PDU.Message(
      time: time, recipient: recipient.key, to: recipient.key, from: participant.user)
    if isVersion1 || readsVersion1Only && mayUseVersion1 {
      guard let box = BoxKey(own: keys.encryption, peer: recipient.key) else { throw .unsendable }
      return OutgoingMessage(header, box: box.seal(data, nonce: participant.service.dataNonce))
    }
    let isPost = recipient.kind == .forum
    let service = participant.service.encryptionKey
    let plain =
      isPost
      ? Version2.SignedContent(data, of: header, at: service, by: keys.authentication).bytes : data
    let sealing = Version2.Sealing(isPost ? .post : .message, of: header, at: service)
    let box = sealing.seal(plain, with: keys.encryption, fresh: .generate(for: .session))
    guard let box else { throw .unsendable }
    return OutgoingMessage(header, box: box)
  }

  /// True if nothing was ever seen that forbids version 1's box.
  private var mayUseVersion1: Bool {
    !recipient.isClosed && !recipient.isEscrowed && !recipient.hasSealed
  }
}

/// The posts that were opened recently: anybody who can seal for a forum can seal the same post once more.
struct RecentPosts {
  private let messages: RecentValues<SHA512.Digest, MessageID>

  /// Remembers a number of posts.
  init(limit: Int = 20_000) { messages = RecentValues(limit: limit) }

  /// Remembers a post.
  ///
  /// - Returns: whether no other message had a post for the same forum, of the same author, time and content.
  func insert(_ message: DeviceMessage, _ content: [UInt8]) -> Bool {
    let time = (0..<8).map { UInt8(truncatingIfNeeded: message.time >> (8 * $0)) }
    let digest = SHA512.hash(message.to.bytes + message.from.bytes + time, content[...])
    if let first = messages.value(for: digest) { return first == message.id }
    return messages.insert(message.id, for: digest)
  }
}

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
      // A post of version 1, which nobody writes who has closed that version.
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
    // Two pairs share one box key, whichever of them wrote.
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
    // A service that has the forum's secret makes such boxes for readers who speak version 1.
    if isPost, recipient.isEscrowed, !own.isClosed {
      return OpenedMessage(data: data, protection: .unsigned)
    }
    guard takesDoubtful else { throw .doubtful }
    return OpenedMessage(data: data, protection: .doubtful)
  }
}
