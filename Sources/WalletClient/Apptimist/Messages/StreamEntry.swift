public import ApptimistProtocol
public import Cryptography

/// An entry of the message stream.
public enum StreamEntry: Sendable, Hashable {
  /// A message for the user.
  case message(DeviceMessage)
  /// The user's devices are to forget the content of a message, as another device has asked. In version 1 the entry may
  /// come again after a reconnection.
  case truncation(MessageID, place: StreamPlace)
  /// The service has dropped entries that the device never got.
  case gap(place: StreamPlace)

  /// The place behind the entry, to be kept together with it.
  public var place: StreamPlace {
    switch self {
    case .message(let message): message.place
    case .truncation(_, let place), .gap(let place): place
    }
  }
}

/// A message as it came, with its data still sealed.
public struct DeviceMessage: Sendable, Hashable {
  /// The message's identifier.
  public let id: MessageID
  /// The time of writing, as the sender states it, in seconds since 1970.
  public let time: UInt64
  /// The recipient: the user, or a forum.
  public let to: EncryptionPublicKey
  /// The author. In a message that came through a forum, only a signature or the service vouches for it.
  public let from: EncryptionPublicKey
  /// The sealed data; ``Device/open(_:forum:takesDoubtful:)`` opens it.
  public let box: [UInt8]
  /// The place behind the message, to be kept together with it.
  public let place: StreamPlace

  init(_ message: PDU.Message, data: ArraySlice<UInt8>, id: MessageID, place: StreamPlace) {
    self.id = id
    self.place = place
    time = message.time
    to = message.to
    from = message.from
    box = Array(data)
  }

  /// The message's fields as it came to a user.
  func header(for recipient: EncryptionPublicKey) -> PDU.Message {
    PDU.Message(time: time, recipient: recipient, to: to, from: from)
  }
}

/// The protection that a message has, or was given.
public enum MessageProtection: Sendable, Hashable {
  /// Version 2: sealed by its author for the user alone.
  case sealed
  /// Version 2: a post that its author has signed.
  case signed
  /// A post that nobody has signed.
  case unsigned
  /// Version 1's box.
  case version1
  /// Version 1's box, of somebody who has closed version 1: from before that, or forged.
  case doubtful
}

/// A message that is ready to be sent, any number of times, also by another ``Device``: its identifier stays, so that the
/// service queues it once.
public struct OutgoingMessage: Sendable, Hashable {
  /// The message's identifier.
  public let id: MessageID
  let header: PDU.Message
  let box: [UInt8]

  /// The recipient.
  public var to: EncryptionPublicKey { header.to }

  /// The protection that the message was given. An app tells its user if it is ``MessageProtection/version1``.
  public var protection: MessageProtection {
    switch Version2.Sealing.kind(of: box) {
    case .message: .sealed
    case .post, .copy: .signed
    case nil: .version1
    }
  }

  init(_ header: PDU.Message, box: [UInt8]) {
    self.header = header
    self.box = box
    id = MessageID(of: header, data: box[...])
  }

  /// Reads what ``stored`` was.
  ///
  /// - Returns: nil for anything else.
  public init?(stored bytes: [UInt8]) {
    guard case .message(let header)? = try? PDU(decoding: Array(bytes.prefix(Self.headerLength)))
    else { return nil }
    self.init(header, box: Array(bytes.dropFirst(Self.headerLength)))
  }

  /// The message, to be stored until it was sent; nothing in it is secret.
  public var stored: [UInt8] { PDU.message(header).encoded() + box }

  private static let headerLength = 2 + 8 + 3 * EncryptionPublicKey.byteCount
}

/// A message that was opened.
public struct OpenedMessage: Sendable, Hashable {
  /// The data that its author sealed.
  public let data: [UInt8]
  /// The protection that it came under.
  public let protection: MessageProtection
}
