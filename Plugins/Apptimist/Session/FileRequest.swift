internal import ApptimistProtocol
internal import Cryptography

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
