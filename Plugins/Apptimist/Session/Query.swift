internal import ApptimistProtocol
internal import Cryptography

/// Something that a session needs to know, or to have done, before it goes on.
///
/// Large cases are indirect, so that sessions and actions stay small.
enum Query: Sendable {
  /// Claims the connection's ephemeral key for it alone.
  case claim(EncryptionPublicKey)
  /// Makes an account, if the identity provider permits it.
  indirect case register(NewAccount)
  /// Looks up an account that wants to log in.
  case account(EncryptionPublicKey)
  /// Records on disk that the user has used the connection's ephemeral key, and looks up where the stream
  /// begins.
  indirect case start(
    user: EncryptionPublicKey, ephemeralKey: EncryptionPublicKey, head: MessageID, max: Int)

  // A user who has logged in asks for these, as ``SessionAction/join(_:)`` has said.

  /// Makes a forum.
  indirect case makeForum(NewAccount)
  /// Deletes a forum.
  case deleteForum(EncryptionPublicKey)
  /// Delivers posts to their recipients' mailboxes, in this order.
  case post([Post])
  /// Deletes the content of a message.
  indirect case truncate(MessageID)
  /// Records that the user vouches for another; the signature is verified, and kept if it is one of version 2.
  indirect case vouch(for: EncryptionPublicKey, signature: Signature?)
  /// Records that the user vouches no more.
  case revoke(for: EncryptionPublicKey)
  /// Lists the users who vouch for an account.
  case vouchers(of: EncryptionPublicKey)
  /// Finds as many accounts as a search asks for.
  indirect case find(AccountSearch)
  /// Does something with a file.
  indirect case file(FileRequest)

  // Version 2 asks for these.

  /// Records that a device has proved to be the account's, and looks up where its stream begins.
  indirect case begin(StreamRequest)
  /// Looks up the position at which the stream tells of a truncation.
  indirect case truncation(of: MessageID)
  /// Keeps the position that a device has acknowledged: at once, or with others within a second.
  indirect case acknowledge(MailboxPosition, device: Version2.DeviceID, isAnswered: Bool)
  /// Binds a device to a push address, or unbinds it.
  indirect case push(Version2.Push, data: [UInt8], device: Version2.DeviceID)
  /// Asks whether there is an account.
  case exists(EncryptionPublicKey)
  /// Lists a part of the users who vouch for an account.
  indirect case voucherPage(Version2.VouchersQuery)
  /// Finds a part of the accounts that a search matches.
  indirect case search(AccountSearch)
  /// Deletes the user's account.
  case leave
  /// Makes the user a reader of a forum that asks for a token.
  case join(EncryptionPublicKey)
}

/// A search for accounts: in version 2 for a page of them.
enum AccountSearch: Hashable, Sendable {
  case name(Version2.TextQuery)
  case uid(Version2.TextQuery)
  case key(EncryptionPublicKey)

  /// Returns the number of accounts that are wanted, which may be as many as a limit allows.
  func count(upTo limit: Int) -> Int {
    switch self {
    case .key: 1
    case .name(let query), .uid(let query):
      query.page.max == 0 ? limit : min(limit, Int(query.page.max))
    }
  }
}

/// The result of a query.
enum Reply: Sendable {
  /// Tells whether the ephemeral key is this connection's; false also if a login with it was noted before.
  case claimed(Bool)
  /// The entry of the mailbox after which the stream begins.
  case started(MailboxPosition)
  /// The positions in the sender's own mailbox, of the messages that were delivered there.
  case posted([MailboxPosition])
  /// The result of a truncation.
  case truncated(Truncation)
  /// The users who vouch.
  case vouchers([EncryptionPublicKey])
  /// The accounts that were found.
  case found([Version2.User])
  /// The result of a request about a file.
  case file(FileReply)
  /// The outcome of each post of a device of version 2.
  case outcomes([PostOutcome])
  /// The query is done, or refused with an error.
  case outcome(ErrorCode)
  /// The account, or nil if there is none.
  case account(KnownAccount?)
  /// The place at which the stream begins, or nil if the account has changed meanwhile.
  case began(StreamStart?)
  /// The position of an entry, zero if it is not there.
  case position(MailboxPosition)
  /// A part of the users who vouch.
  case voucherPage([Version2.Voucher], next: Version2.Cursor)
  /// A part of the accounts that were found.
  case accountPage([Version2.User], next: Version2.Cursor)
  /// The store failed; nothing was changed.
  case failed
}

/// A request of a user about a file.
struct FileRequest: Sendable {
  /// The thing to do with a file.
  enum Act: Sendable {
    case read, lock, remove
    /// Writes the content; nil if the data does not open.
    case write([UInt8]?)
  }

  let act: Act
  /// The user or forum whose file it is.
  let directory: EncryptionPublicKey
  let filename: ShortBytes
}

/// The result of a request about a file.
enum FileReply: Hashable, Sendable {
  /// The request is done; with the content, if that was asked for.
  case done([UInt8]?)
  /// The request is refused.
  case refused(ErrorCode)
}

/// The subject of a query that a session has asked for its user. Large cases are indirect, so that
/// sessions stay small.
enum UserRequest {
  case posts(Posting)
  indirect case truncation(MessageID)
  case vouchers(of: EncryptionPublicKey)
  case search
  /// A request about a file.
  indirect case file(PDU)
  /// A change that the device isn't told.
  case other
}

/// The result of a request for truncation.
enum Truncation: Hashable, Sendable {
  /// The message's content is deleted, and the stream tells so at this position.
  case first(MailboxPosition)
  /// The message was truncated before.
  case again
  /// The message was never in the mailbox.
  case never
}
