internal import Cryptography
internal import HTTPProtocol
internal import SystemCalls

/// The schemas themselves, for whoever asks for them by the address that TokenScripts name.
struct SchemaDocuments: Sendable {
  /// A SHA-256 over all of them and their paths; empty without any.
  let digest: [UInt8]
  /// By their paths below the folder.
  private let files: [[UInt8]: PreparedFile]
  /// Their bytes.
  let contents: [Content]

  /// No schemas.
  static let none = SchemaDocuments(digest: [], files: [:], contents: [])

  private init(digest: [UInt8], files: [[UInt8]: PreparedFile], contents: [Content]) {
    self.digest = digest
    self.files = files
    self.contents = contents
  }

  /// Reads every `*.xsd` below a folder; blocks on the disk.
  ///
  /// - Parameters:
  ///   - path: the folder.
  ///   - fields: the fields of every answer.
  ///   - now: the time, in seconds since 1970, that no file counts as newer than.
  ///   - known: the contents in service, which are shared where they are the same.
  /// - Throws: ``SystemError`` when the folder can't be read; a file that can't be is left out.
  init(
    folder path: String, _ fields: AnswerFields, now: Int64, sharing known: [Content] = []
  ) throws(SystemError) {
    let folder = try RepositoryFolder(path)
    let known = known.byDigest
    var files: [[UInt8]: PreparedFile] = [:]
    var digests: [UInt8] = []
    var all: [Content] = []
    for entry in try folder.list(where: { $0.bytes.suffix(4) == Array(".xsd".utf8)[...] }).entries {
      guard let contents = try? folder.read(entry) else { continue }
      let digest = SHA256.hash(contents.bytes).bytes
      digests += SHA256.hash(entry.path.bytes).bytes + digest
      let content = known[digest] ?? Content(Bytes(contents.bytes), digest: digest)
      all.append(content)
      files[entry.path.bytes] = PreparedFile(
        content, modified: min(max(contents.modified, 0), now), fields, isTokenScript: false)
    }
    self.init(digest: SHA256.hash(digests).bytes, files: files, contents: all)
  }

  /// A schema of a version, by either of the two addresses that are in use: beside the version's
  /// other files, or in a folder `tokenscript` below.
  ///
  /// - Parameters:
  ///   - schema: the version.
  ///   - name: the file's name, `*.xsd`.
  /// - Returns: nil if there is none.
  func document(_ schema: SchemaVersion, _ name: ArraySlice<UInt8>) -> PreparedFile? {
    files[Array("\(schema)/".utf8) + name] ?? files[Array("\(schema)/tokenscript/".utf8) + name]
  }
}
