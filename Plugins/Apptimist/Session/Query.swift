internal import ApptimistProtocol
internal import Cryptography
internal import Platform

/// The reply to a query of a session. It is filled in before the session is notified that the query is done.
///
/// The query and the state that waits for it share it, so that a reply of another type can't come.
final class QueryReply<Value: Sendable>: Sendable {
  private let state = Lock<Value?>(nil)

  /// The reply, or nil if the query failed; nothing was changed then.
  var value: Value? { state.withLock { $0 } }

  /// Returns the reply to a query whose failure no PDU can report.
  ///
  /// - Throws: ``SessionEnd/failed`` if the query failed.
  func required() throws(SessionEnd) -> Value {
    guard let value else { throw .failed }
    return value
  }

  func fulfill(_ value: Value) { state.withLock { $0 = value } }
}

/// Something that a session needs to know, or to have done, before it goes on.
///
/// Large cases are indirect, so that sessions and actions stay small.
enum Query: Sendable {
  /// Claims the connection's ephemeral key for it alone: whether it is this connection's.
  case claim(EncryptionPublicKey, QueryReply<Bool>)
  /// Makes an account, if the identity provider permits it.
  indirect case register(RequestedAccount, QueryReply<ErrorCode>)
  /// Looks up an account that wants to log in.
  case account(EncryptionPublicKey, QueryReply<AccountCredentials?>)
  /// Records on disk that the user has used the connection's ephemeral key, and looks up the entry of the mailbox after
  /// which the stream begins; nil if a login with the key was recorded before.
  indirect case start(StreamOrigin, QueryReply<MailboxPosition?>)

  // A user who has logged in asks for these, as ``SessionAction/join(_:)`` has said.

  /// Makes a forum.
  indirect case makeForum(RequestedAccount, QueryReply<ErrorCode>)
  /// Deletes a forum.
  case deleteForum(EncryptionPublicKey, QueryReply<ErrorCode>)
  /// Delivers posts to their recipients' mailboxes, in this order.
  case post([Post], QueryReply<[PostOutcome]>)
  /// Deletes the content of a message.
  indirect case truncate(MessageID, QueryReply<Truncation>)
  /// Records that the user vouches for another; the signature is verified, and kept if it is one of version 2.
  indirect case vouch(for: EncryptionPublicKey, signature: Signature?, QueryReply<ErrorCode>)
  /// Records that the user vouches no more.
  case revoke(for: EncryptionPublicKey, QueryReply<ErrorCode>)
  /// Lists the users who vouch for an account.
  case vouchers(of: EncryptionPublicKey, QueryReply<[EncryptionPublicKey]>)
  /// Finds as many accounts as a search asks for.
  indirect case find(AccountSearch, QueryReply<[Version2.User]>)
  /// Does something with a file.
  indirect case file(FileRequest, QueryReply<FileReply>)

  // Version 2 asks for these.

  /// Records that a device has proved to be the account's, and looks up where its stream begins; nil if the account has changed
  /// meanwhile.
  indirect case begin(StreamRequest, QueryReply<StreamStart?>)
  /// Looks up the position at which the stream reports a truncation, zero if it is not there.
  indirect case truncation(of: MessageID, QueryReply<MailboxPosition>)
  /// Keeps the position that a device has acknowledged: at once, or with others within a second.
  indirect case acknowledge(
    MailboxPosition, device: Version2.DeviceID, isAnswered: Bool, QueryReply<ErrorCode>)
  /// Binds a device to a push address, or unbinds it.
  indirect case push(
    Version2.Push, data: [UInt8], device: Version2.DeviceID, QueryReply<ErrorCode>)
  /// Asks whether there is an account.
  case exists(EncryptionPublicKey, QueryReply<ErrorCode>)
  /// Lists a part of the users who vouch for an account.
  indirect case voucherPage(
    Version2.VouchersQuery, QueryReply<Result<ListPage<Version2.Voucher>, ErrorCode>>)
  /// Finds a part of the accounts that a search matches.
  indirect case search(AccountSearch, QueryReply<Result<ListPage<Version2.User>, ErrorCode>>)
  /// Deletes the user's account.
  case leave(QueryReply<ErrorCode>)
  /// Makes the user a reader of a forum that asks for a token.
  case join(EncryptionPublicKey, QueryReply<ErrorCode>)
}

/// A login of version 1: who it is, by which ephemeral key, and where the stream is to begin.
struct StreamOrigin: Sendable {
  let user: EncryptionPublicKey
  let ephemeralKey: EncryptionPublicKey
  let head: MessageID
  let max: Int
}

/// A part of a list, and the cursor of the next one.
struct ListPage<Item: Sendable>: Sendable {
  let items: [Item]
  let next: Version2.Cursor
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

/// A query that a session of version 1 has asked for its user, and what the reply is for. Large cases are indirect, so that
/// sessions stay small.
enum UserRequest {
  case posts(Posting)
  indirect case truncation(MessageID, QueryReply<Truncation>)
  case vouchers(of: EncryptionPublicKey, QueryReply<[EncryptionPublicKey]>)
  case search(QueryReply<[Version2.User]>)
  /// A request about a file, whose reply is of the same type.
  indirect case file(PDU, QueryReply<FileReply>)
  /// A change that the device gets no answer to, unless it fails.
  case change(QueryReply<ErrorCode>)
}

/// The result of a request for truncation.
enum Truncation: Hashable, Sendable {
  /// The message's content is deleted; the stream reports it at this position.
  case first(MailboxPosition)
  /// The message was truncated before.
  case again
  /// The message was never in the mailbox.
  case never
}
