internal import Cryptography
internal import Time
internal import TokenScriptReading

/// One file of the repository as one scan found it.
final class RepositoryFile: Sendable {
  /// The path of the file.
  let path: RepositoryPath
  /// The SHA-256 of the bytes, or nil if the file could not be read.
  let digest: SHA256.Digest?
  /// The bytes, or nil if the file could not be read or is not served.
  let content: Content?
  /// The number of bytes.
  let size: Int
  /// The time of the last change of the content.
  let modified: Timestamp
  /// The status that no other bytes at the path have, or nil if there is none.
  let status: FileStatus?
  /// The meaning of the file, or the reason why it has none.
  let reading: Result<TokenScriptFile, FileRefusal>
  /// The fault of newer bytes at the path, if this is the last good version.
  let replacedBy: FileRefusal?

  /// Makes a file.
  init(
    path: RepositoryPath, digest: SHA256.Digest? = nil, content: Content? = nil, size: Int = 0,
    modified: Timestamp = Timestamp(seconds: 0), status: FileStatus? = nil,
    reading: Result<TokenScriptFile, FileRefusal>, replacedBy: FileRefusal? = nil
  ) {
    self.path = path
    self.digest = digest
    self.content = content
    self.size = size
    self.modified = modified
    self.status = status
    self.reading = reading
    self.replacedBy = replacedBy
  }

  /// Whether the file's check against the schema was stopped.
  var isTooMuchWork: Bool {
    guard case .success(let file) = reading, case .failed(let refusal) = file.validity else {
      return false
    }
    return refusal.reason == SchemaWorkers.tooMuchWork
  }

  /// Returns this version for further service, although newer bytes at the path are no XML.
  ///
  /// - Parameter refusal: the fault of the newer bytes.
  func kept(because refusal: FileRefusal) -> RepositoryFile {
    RepositoryFile(
      path: path, digest: digest, content: content, size: size, modified: modified,
      status: status, reading: reading, replacedBy: refusal)
  }
}
