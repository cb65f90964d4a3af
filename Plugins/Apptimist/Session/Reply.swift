package import Cryptography

/// The result of a query.
package enum Reply: Sendable {
  /// Whether the ephemeral key is this connection's; false also if a login with it was noted before.
  case claimed(Bool)
  /// Whether there is such an account now.
  case registered(Bool)
  /// The key, or nil if there is no such user.
  case authenticationKey(AuthenticationPublicKey?)
  /// The entry of the mailbox after which the stream begins.
  case started(StreamPosition)
  /// The positions in the sender's own mailbox, of the messages that were delivered there.
  case posted([StreamPosition])
  /// The result of a truncation.
  case truncated(Truncation)
  /// The users who vouch.
  case vouchers([EncryptionPublicKey])
  /// The accounts that were found.
  case found([FoundAccount])
  /// The result of a request about a file.
  case file(FileReply)
  /// The query is dealt with, and nobody is told how.
  case done
  /// The store failed; nothing was changed.
  case failed
}
