internal import ApptimistProtocol
internal import Cryptography
internal import Storage

/// A message for one recipient.
struct MessageCopy: Sendable {
  let recipient: EncryptionPublicKey
  let id: MessageID
  /// The header in clear.
  let header: [UInt8]
  /// The data as it is boxed.
  let data: [UInt8]

  /// The bytes that it counts.
  var size: Int { header.count + data.count }

  /// Returns whether two copies differ in the recipient only.
  func isSame(as other: MessageCopy) -> Bool {
    PDU.Message.isSame(header, other.header) && data == other.data
  }
}

/// The result of a delivery to one recipient.
enum Delivered: Hashable, Sendable {
  case delivered(MailboxPosition)
  /// The message is or was in the mailbox, and is not delivered again.
  case known(MailboxPosition)
  /// There is no such user.
  case unknownRecipient
  /// The mailbox is full of what contacts sent, and the sender is a stranger.
  case refused
}

/// A notification for the nodes that have sessions of a user, once the change is committed.
struct MailboxNotification: Sendable {
  let user: EncryptionPublicKey
  /// The position of a new entry in the user's mailbox.
  let position: MailboxPosition
  let nodes: [NodeID]
  /// True if the user has no version 1 any more: this node's sessions of version 1 end before the entry is published.
  var isClosed = false
}

/// The results of a part of a batch of messages.
struct DeliveredPiece: Sendable {
  /// The result for each copy, in order.
  var results: [Delivered]
  var notifications: [MailboxNotification] = []
}

/// The failure of a delivery for forums that have changed since they were read, or may have.
struct ForumsChanged: Error {}

/// A change of mailboxes, or of their pending deliveries.
typealias MailboxChange<Value> =
  @Sendable (inout PendingDeliveries, borrowing Transaction) throws -> Value

/// Writes what comes into mailboxes: in one way into a store that is this process's own, in another into one that other
/// nodes share. ``DeliveryPlan`` decides for both.
protocol DeliveryStrategy: Sendable {
  /// Delivers messages to their recipients, piece by piece, in order. Each piece is stored in a short time, and others get
  /// their turns between two.
  ///
  /// - Parameters:
  ///   - login: the sender's login; nothing is delivered if it holds no more.
  ///   - forums: forums by their keys, as the copies were made for them. If any is another one in the store, the first
  ///     result is the failure ``ForumsChanged``, and there are no others: nothing is delivered. Only where nodes share the
  ///     store can that be.
  func deliver(
    _ pieces: [ArraySlice<MessageCopy>], from login: AccountLogin,
    if forums: [EncryptionPublicKey: Forum]
  ) async -> [Result<DeliveredPiece, any Error>]

  /// Changes mailboxes in another way, in a transaction.
  func write<Value: Sendable>(
    isolation: Isolation, _ body: @escaping MailboxChange<Value>
  ) async throws -> Value

  /// Writes what has been delivered to a user and isn't in the mailbox yet. Whatever is delivered from then on is news.
  func flush(_ user: EncryptionPublicKey) async throws

  /// Locks a mailbox against other transactions until the end of this one; to be called before it is read.
  func lock(mailboxOf user: AccountNumber, _ transaction: borrowing Transaction) throws

  /// Locks the directories of a user, as ``lock(mailboxOf:_:)`` does; posts aren't kept waiting.
  func lock(directoriesOf user: AccountNumber, _ transaction: borrowing Transaction) throws

  /// Returns the nodes that have sessions of a user, if several share the store. The mailbox is locked.
  func nodes(of user: AccountNumber, _ transaction: borrowing Transaction) throws -> [NodeID]
}
