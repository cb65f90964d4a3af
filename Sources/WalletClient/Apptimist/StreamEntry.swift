public import ApptimistProtocol
public import Cryptography

/// An entry of the message stream.
public enum StreamEntry: Sendable, Hashable {
  /// A message for the user.
  case message(DeviceMessage)
  /// The user's devices are to forget the content of a message, as another device has asked. The entry may come again
  /// after a reconnection.
  case truncation(MessageID)
}

/// A message as it came, with its data still boxed.
public struct DeviceMessage: Sendable, Hashable {
  /// The message's identifier. The last one that the app has dealt with is its head: keep it, and give it to the next
  /// ``Device``.
  public let id: MessageID
  /// The time of writing, as the sender states it, in seconds since 1970.
  public let time: UInt64
  /// The recipient: the user, or a forum.
  public let to: EncryptionPublicKey
  /// The author. In a message that came through a forum, only the service vouches for it.
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

/// A message that is ready to be sent, any number of times: its identifier stays, so that the service queues it once.
public struct OutgoingMessage: Sendable, Hashable {
  /// The message's identifier.
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

/// A user or a forum that a search found.
public struct DeviceUser: Sendable, Hashable {
  /// The key, which is the identity.
  public let key: EncryptionPublicKey
  /// The name that the user or the forum's author chose.
  public let name: String
  /// The identity at the service's identity provider.
  public let uid: String

  init?(_ user: PDU.User) {
    guard !user.key.isZero else { return nil }
    key = user.key
    name = String(decoding: user.name.bytes, as: UTF8.self)
    uid = String(decoding: user.uid.bytes, as: UTF8.self)
  }
}
