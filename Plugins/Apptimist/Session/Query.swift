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
  /// Notes on disk that the user has used the connection's ephemeral key, and looks up where the stream
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
  /// Notes that the user vouches for another; the signature is verified, and kept if it is one of version 2.
  indirect case vouch(for: EncryptionPublicKey, signature: Signature?)
  /// Notes that the user vouches no more.
  case revoke(for: EncryptionPublicKey)
  /// Lists the users who vouch for an account.
  case vouchers(of: EncryptionPublicKey)
  /// Finds as many accounts as a search asks for.
  indirect case find(AccountSearch)
  /// Does something with a file.
  indirect case file(FileRequest)

  // Version 2 asks for these.

  /// Notes that a device has proved to be the account's, and looks up where its stream begins.
  indirect case begin(StreamRequest)
  /// Looks up the position at which the stream tells of a truncation.
  indirect case truncation(of: MessageID)
  /// Keeps the position that a device has acknowledged: at once, or with others within a second.
  indirect case acknowledge(StreamPosition, device: Version2.DeviceID, isAnswered: Bool)
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
