internal import ApptimistProtocol
internal import Cryptography

/// What a session needs to know, or to have done, before it goes on: the store or the identity
/// provider is asked.
enum Question: Sendable {
  /// Take the connection's ephemeral key for it alone.
  case claim
  /// Make an account, if the identity provider says so.
  case register(PDU.New, name: AccountName, uid: String)
  /// Who has this key.
  case account(EncryptionPublicKey)
  /// Where the stream begins.
  case start(user: EncryptionPublicKey, head: MessageID, max: Int)
  /// Make a forum.
  case makeForum(PDU.New, name: AccountName, author: EncryptionPublicKey)
  /// Delete a forum.
  case deleteForum(EncryptionPublicKey, by: EncryptionPublicKey)
  /// Pass messages on, in this order.
  case post([Post])
  /// Delete the content of a message.
  case truncate(MessageID, user: EncryptionPublicKey)
  /// Note that a user vouches for another; the signature is verified.
  case vouch(for: EncryptionPublicKey, by: EncryptionPublicKey)
  /// Note that a user vouches no more.
  case revoke(for: EncryptionPublicKey, by: EncryptionPublicKey)
  /// Who vouches for a user.
  case vouchers(of: EncryptionPublicKey)
  /// Who has a name.
  case searchName(ShortBytes, max: Int)
  /// Who has an identity.
  case searchUid(ShortBytes, max: Int)
  /// Who has a key.
  case searchKey(EncryptionPublicKey)
  /// Do something with a file.
  case file(FileRequest)
}

/// What a question comes to.
enum Answer: Sendable {
  /// Whether the key is this connection's.
  case claimed(Bool)
  /// Whether there is such an account now.
  case registered(Bool)
  /// The account; nil: there is none.
  case account(Account?)
  /// The entry of the queue after which the stream begins.
  case started(StreamPosition)
  /// The places in the sender's own queue, of the messages that were queued there.
  case posted([StreamPosition])
  /// What came of a truncation.
  case truncated(Truncation)
  /// Who vouches.
  case vouchers([EncryptionPublicKey])
  /// Who was found.
  case found([FoundAccount])
  /// What came of something with a file.
  case file(FileAnswer)
  /// It is done, or wasn't to be done; nobody is told.
  case done
  /// The store failed: nothing was changed.
  case failed
}

/// A message that a user sent.
struct Post: Sendable {
  let message: PDU.Message
  /// In clear, as it came.
  let header: [UInt8]
  /// As it came, boxed for somebody else.
  let data: [UInt8]

  /// A message as it came.
  init(message: PDU.Message, _ received: Session.Received) {
    self.message = message
    header = received.header
    data = received.data
  }
}

/// Something that a user wants done with a file.
struct FileRequest: Sendable {
  /// What is to be done.
  enum Act: Sendable {
    case read, lock, remove
    /// With the content; nil: the data doesn't open.
    case write([UInt8]?)
  }

  let act: Act
  let directory: EncryptionPublicKey
  let filename: ShortBytes
  let user: EncryptionPublicKey
}

/// What came of a request for a file.
enum FileAnswer: Hashable, Sendable {
  /// It is done; with the content, if that was asked for.
  case done([UInt8]?)
  /// It isn't.
  case refused(ErrorCode)
}
