/// One file of the repository as one scan found it.
final class RepositoryFile: Sendable {
  /// Where it lies.
  let path: RepositoryPath
  /// The SHA-256 of its bytes; nil if it could not be read.
  let digest: [UInt8]?
  /// Its bytes; nil if it could not be read, or is not to be served.
  let content: Content?
  /// How many bytes it has.
  let size: Int
  /// When its content last changed, in seconds since 1970.
  let modified: Int64
  /// What it means, or why that can't be told.
  let reading: Result<TokenScriptFile, Refusal>
  /// Why the bytes that now lie at the path are not the ones of this file, the last good version.
  let replacedBy: Refusal?

  /// A file.
  ///
  /// - Parameters:
  ///   - path: where it lies.
  ///   - digest: the SHA-256 of its bytes.
  ///   - content: its bytes.
  ///   - size: how many they are.
  ///   - modified: when its content last changed, in seconds since 1970.
  ///   - reading: what it means.
  ///   - replacedBy: what is wrong with the bytes that now lie at the path.
  init(
    path: RepositoryPath, digest: [UInt8]? = nil, content: Content? = nil, size: Int = 0,
    modified: Int64 = 0, reading: Result<TokenScriptFile, Refusal>, replacedBy: Refusal? = nil
  ) {
    self.path = path
    self.digest = digest
    self.content = content
    self.size = size
    self.modified = modified
    self.reading = reading
    self.replacedBy = replacedBy
  }

  /// The same version, kept although the path now holds something that is no XML.
  ///
  /// - Parameter refusal: what is wrong with the new bytes.
  /// - Returns: the file to serve meanwhile.
  func kept(because refusal: Refusal) -> RepositoryFile {
    RepositoryFile(
      path: path, digest: digest, content: content, size: size, modified: modified,
      reading: reading,
      replacedBy: refusal)
  }
}
