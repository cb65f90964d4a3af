internal import ApptimistProtocol
internal import Cryptography

/// Which file: whose directory, and its name there.
struct FileAddress: Hashable, Sendable {
  /// A user's or a forum's key.
  let directory: EncryptionPublicKey
  let name: Filename
}
