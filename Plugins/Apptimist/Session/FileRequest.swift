package import ApptimistProtocol
package import Cryptography

/// A request of a user about a file.
package struct FileRequest: Sendable {
  /// The thing to do with a file.
  package enum Act: Sendable {
    case read, lock, remove
    /// Writes the content; nil if the data does not open.
    case write([UInt8]?)
  }

  package let act: Act
  /// The user or forum whose file it is.
  package let directory: EncryptionPublicKey
  package let filename: ShortBytes
}

/// The result of a request about a file.
package enum FileReply: Hashable, Sendable {
  /// The request is done; with the content, if that was asked for.
  case done([UInt8]?)
  /// The request is refused.
  case refused(ErrorCode)
}
