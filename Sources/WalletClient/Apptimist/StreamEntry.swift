public import ApptimistProtocol
public import Cryptography

/// What the message stream consists of.
public enum StreamEntry: Sendable, Hashable {
  /// A message for the user.
  case message(DeviceMessage)
  /// The user's devices shall forget the content of a message: another device asked for it. It may be told
  /// again after a reconnection.
  case truncation(MessageID)
}

/// A message as it came, with its data still boxed.
public struct DeviceMessage: Sendable, Hashable {
  /// What it is known by everywhere. The last one that the app has dealt with is its head: keep it, and give it
  /// to the next ``Device``.
  public let id: MessageID
  /// When it was written, as its sender says: seconds since 1970.
  public let time: UInt64
  /// Whom it was written to: the user, or a forum.
  public let to: EncryptionPublicKey
  /// Who wrote it. For what came through a forum that is the service's word only.
  public let from: EncryptionPublicKey
  /// The boxed data; ``Device/open(_:forum:)`` opens it.
  public let box: [UInt8]

  init(_ message: PDU.Message, header: [UInt8], data: ArraySlice<UInt8>) {
    id = MessageID(header: header, data: data)
    time = message.time
    to = message.to
    from = message.from
    box = Array(data)
  }
}

/// A message that is ready to be sent, as often as need be: its identifier stays, so that the service queues
/// it once.
public struct OutgoingMessage: Sendable, Hashable {
  /// What it is known by everywhere.
  public let id: MessageID
  let header: PDU.Message
  let box: [UInt8]

  /// The recipient.
  public var to: EncryptionPublicKey { header.to }

  init(_ header: PDU.Message, box: [UInt8]) {
    self.header = header
    self.box = box
    id = MessageID(header: PDU.message(header).encoded(), data: box[...])
  }
}

/// A user or a forum, as a search finds them.
public struct DeviceUser: Sendable, Hashable {
  /// Who they are.
  public let key: EncryptionPublicKey
  /// The name that they chose.
  public let name: String
  /// Who they are at the service's identity provider.
  public let uid: String

  init?(_ user: PDU.User) {
    guard !user.key.isZero else { return nil }
    key = user.key
    name = String(decoding: user.name.bytes, as: UTF8.self)
    uid = String(decoding: user.uid.bytes, as: UTF8.self)
  }
}
