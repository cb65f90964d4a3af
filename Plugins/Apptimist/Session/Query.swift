package import ApptimistProtocol
package import Cryptography

/// Something that a session needs to know, or to have done, before it goes on.
///
/// Large cases are indirect, so that sessions and actions stay small.
package enum Query: Sendable {
  /// Claims the connection's ephemeral key for it alone.
  case claim(EncryptionPublicKey)
  /// Makes an account, if the identity provider permits it.
  indirect case register(PDU.New, name: AccountName, uid: String)
  /// Looks up the key of a user's signatures.
  case authenticationKey(of: EncryptionPublicKey)
  /// Notes on disk that the user has used the connection's ephemeral key, and looks up where the stream
  /// begins.
  indirect case start(
    user: EncryptionPublicKey, ephemeralKey: EncryptionPublicKey, head: MessageID, max: Int)
  /// Makes a forum.
  indirect case makeForum(PDU.New, name: AccountName, author: EncryptionPublicKey)
  /// Deletes a forum.
  indirect case deleteForum(EncryptionPublicKey, by: EncryptionPublicKey)
  /// Delivers posts to their recipients' mailboxes, in this order.
  case post([Post])
  /// Deletes the content of a message.
  indirect case truncate(MessageID, user: EncryptionPublicKey)
  /// Notes that a user vouches for another; the signature is verified.
  indirect case vouch(for: EncryptionPublicKey, by: EncryptionPublicKey)
  /// Notes that a user vouches no more.
  indirect case revoke(for: EncryptionPublicKey, by: EncryptionPublicKey)
  /// Lists the users who vouch for an account.
  case vouchers(of: EncryptionPublicKey)
  /// Finds accounts by name.
  case searchName(ShortBytes, max: Int)
  /// Finds users by identity.
  case searchUid(ShortBytes, max: Int)
  /// Finds an account by key.
  case searchKey(EncryptionPublicKey)
  /// Does something with a file.
  indirect case file(FileRequest)
}
