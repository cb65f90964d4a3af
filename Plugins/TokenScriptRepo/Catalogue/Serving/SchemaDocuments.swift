internal import Cryptography
internal import Platform
internal import Formats

/// The schema files, served at the addresses in TokenScripts' namespaces.
struct SchemaDocuments: Sendable {
  /// A SHA-256 over all schemas and their paths, or zero if there is no folder.
  private(set) var digest = SHA256.Digest()
  private var files: [[UInt8]: PreparedFile] = [:]
  /// The contents of the schemas.
  private(set) var contents: [Content] = []

  /// An empty set of schemas.
  static let none = SchemaDocuments()

  private init() {}

  /// Reads every `*.xsd` below a folder; blocks on the disk.
  ///
  /// - Parameters:
  ///   - now: the present time; later times of files are cut to it.
  ///   - known: the contents in service, which are reused for equal bytes.
  /// - Throws: ``SystemError`` if the folder can't be read. A file that can't be read is left out.
  init(
    folder path: String, _ headers: ResponseHeaders, now: Timestamp, sharing known: [Content] = []
  ) throws(SystemError) {
    let folder = try RepositoryFolder(path)
    let known = known.byDigest
    var digests: [UInt8] = []
    for entry in try folder.list(where: { $0.bytes.suffix(4) == Array(".xsd".utf8)[...] }).entries {
      guard let contents = try? folder.read(entry) else { continue }
      let digest = unsafe SHA256.hash(contents.bytes.buffer.bytes)
      digests += SHA256.hash(entry.path.bytes).bytes + digest.bytes
      let content = known[digest] ?? Content(contents.bytes, digest: digest)
      self.contents.append(content)
      files[entry.path.bytes] = PreparedFile(
        content, modified: min(max(contents.status.lastModified, Timestamp(seconds: 0)), now),
        headers, isTokenScript: false)
    }
    digest = SHA256.hash(digests)
  }

  /// Returns whether there is a schema in a folder of the official tool's.
  private func isThere(_ folder: String) -> Bool {
    files[Array("\(folder)/tokenscript.xsd".utf8)] != nil
  }

  /// Returns a schema of a version, from the version's folder, from the folder `tokenscript` below it, or from where the
  /// official tool lays it.
  ///
  /// - Returns: nil if there is none.
  func document(_ schema: SchemaVersion, _ name: ArraySlice<UInt8>) -> PreparedFile? {
    let tools = schema.path.replacing("/", with: "-")
    return ["\(schema)/", "\(schema)/tokenscript/", "\(tools)/"].lazy
      .compactMap { files[Array($0.utf8) + name] }.first
      ?? (isThere(tools) ? files[Array("common/".utf8) + name] : nil)
  }
}
