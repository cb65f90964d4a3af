internal import ApptimistProtocol
internal import Cryptography

/// The address of a file.
struct FileAddress: Hashable, Sendable {
  /// The key of the user or forum in whose directory it is.
  let directory: EncryptionPublicKey
  /// The file's name in the directory.
  let name: Filename
}
