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

/// The posts that were opened of late: who can seal for a forum can seal the same post once more.
struct RecentPosts {
  private let messages: RecentValues<SHA512.Digest, MessageID>

  /// Remembers a number of posts.
  init(limit: Int = 20_000) { messages = RecentValues(limit: limit) }

  /// Remembers a post.
  ///
  /// - Returns: whether no other message has brought a post to the same forum, of the same author, time and content.
  func insert(_ message: DeviceMessage, _ content: [UInt8]) -> Bool {
    let time = (0..<8).map { UInt8(truncatingIfNeeded: message.time >> (8 * $0)) }
    let digest = SHA512.hash(message.to.bytes + message.from.bytes + time, content[...])
    if let first = messages.value(for: digest) { return first == message.id }
    return messages.insert(message.id, for: digest)
  }
}
