internal import Cryptography
internal import HTTPProtocol
internal import SystemCalls
internal import Time
internal import TokenScriptReading
internal import Wire

/// The schema files, served at the addresses in TokenScripts' namespaces.
struct SchemaDocuments: Sendable {
  /// A SHA-256 over all schemas and their paths, or zero if there is no folder.
  let digest: SHA256.Digest
  private let files: [[UInt8]: PreparedFile]
  /// The contents of the schemas.
  let contents: [Content]

  /// An empty set of schemas.
  static let none = SchemaDocuments(digest: SHA256.Digest(), files: [:], contents: [])

  private init(digest: SHA256.Digest, files: [[UInt8]: PreparedFile], contents: [Content]) {
    self.digest = digest
    self.files = files
    self.contents = contents
  }

  /// Reads every `*.xsd` below a folder; blocks on the disk.
  ///
  /// - Parameters:
  ///   - path: the folder.
  ///   - headers: the header fields of responses.
  ///   - now: the present time; later times of files are cut to it.
  ///   - known: the contents in service, which are reused for equal bytes.
  /// - Throws: ``SystemError`` if the folder can't be read. A file that can't be read is left out.
  init(
    folder path: String, _ headers: ResponseHeaders, now: Timestamp, sharing known: [Content] = []
  ) throws(SystemError) {
    let folder = try RepositoryFolder(path)
    let known = known.byDigest
    var files: [[UInt8]: PreparedFile] = [:]
    var digests: [UInt8] = []
    var all: [Content] = []
    for entry in try folder.list(where: { $0.bytes.suffix(4) == Array(".xsd".utf8)[...] }).entries {
      guard let contents = try? folder.read(entry) else { continue }
      let digest = SHA256.hash(contents.bytes)
      digests += SHA256.hash(entry.path.bytes).bytes + digest.bytes
      let content = known[digest] ?? Content(Bytes(contents.bytes), digest: digest)
      all.append(content)
      files[entry.path.bytes] = PreparedFile(
        content, modified: min(max(contents.modified, Timestamp(seconds: 0)), now), headers,
        isTokenScript: false)
    }
    self.init(digest: SHA256.hash(digests), files: files, contents: all)
  }

  /// Returns a schema of a version, from the version's folder or from the folder `tokenscript` below it.
  ///
  /// - Parameters:
  ///   - schema: the version.
  ///   - name: the file's name, `*.xsd`.
  /// - Returns: nil if there is none.
  func document(_ schema: SchemaVersion, _ name: ArraySlice<UInt8>) -> PreparedFile? {
    files[Array("\(schema)/".utf8) + name] ?? files[Array("\(schema)/tokenscript/".utf8) + name]
  }
}
