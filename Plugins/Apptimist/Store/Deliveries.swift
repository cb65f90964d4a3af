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
}

/// A change of mailboxes, or of their pending deliveries.
typealias MailboxChange<Value> =
  @Sendable (inout PendingDeliveries, borrowing Transaction) throws -> Value

/// Writes what comes into mailboxes: in one way into a store that is this process's own, in another into one that other
/// nodes share.
protocol Deliveries: Sendable {
  /// Delivers messages to their recipients, piece by piece, in order. Each piece is stored in a short time, and others get
  /// their turns between two.
  ///
  /// - Parameters:
  ///   - pieces: copies, one for each recipient. Neighbours in a piece that differ in the recipient only are stored once.
  ///   - login: the sender's login; nothing is delivered if it holds no more.
  /// - Returns: of each piece, the result for each copy, in the same order.
  func deliver(
    _ pieces: [ArraySlice<MessageCopy>], from login: AccountLogin
  ) async -> [Result<[Delivered], any Error>]

  /// Changes mailboxes in another way, in a transaction.
  ///
  /// - Parameter isolation: the way in which it is kept apart from those of other nodes.
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

  /// Tells nodes of a new entry in the mailbox of a user, which was made by ``write(isolation:_:)``.
  var notify: @Sendable (MailboxPosition, EncryptionPublicKey, [NodeID]) -> Void { get }
}
