internal import Cryptography
internal import Formats
internal import Platform
internal import Synchronization

/// The bytes of a file, shared by all responses with them, and their compressed forms once they are made.
///
/// The bytes of a file that hasn't changed since an earlier run are read later than its index is made.
final class FileContent: Sendable {
  /// The error of a file that no longer has the bytes of its content, or can't be read.
  struct Changed: Error {}

  /// The compressed forms; each is nil if it would not be smaller.
  final class Variants: Sendable {
    /// The bytes in the coding `gzip` (RFC 1952).
    let gzip: Bytes?
    /// The bytes in the coding `br` (RFC 7932).
    let brotli: Bytes?

    fileprivate init(_ bytes: Bytes) {
      gzip = unsafe Compression.gzip(bytes.buffer.bytes).map { Bytes($0).placedForSending() }
      brotli = unsafe Compression.brotli(bytes.buffer.bytes).map { Bytes($0).placedForSending() }
    }
  }

  /// The SHA-256 of the bytes.
  let digest: SHA256.Digest
  /// The number of bytes.
  let size: Int
  /// The place of the bytes as long as they are not read: the root, and the file below it.
  private let source: (root: String, entry: RepositoryFolder.Entry)?
  private let read = LazyReference<Bytes>()
  private let compressed = LazyReference<Variants>()
  private let changedFlag = Atomic<Bool>(false)

  /// Makes a content without compressed forms.
  init(_ bytes: Bytes, digest: SHA256.Digest) {
    self.digest = digest
    size = bytes.count
    source = nil
    _ = read.keep(bytes.placedForSending())
  }

  /// Makes a content whose bytes are not read yet.
  ///
  /// - Parameters:
  ///   - digest: the SHA-256 of the bytes.
  ///   - size: the number of bytes.
  init(
    at entry: RepositoryFolder.Entry, in folder: RepositoryFolder, _ digest: SHA256.Digest,
    _ size: Int
  ) {
    self.digest = digest
    self.size = size
    source = (folder.path, entry)
  }

  /// The bytes, or nil until they are read.
  var bytes: Bytes? { read.value }

  /// True if the file turned out to have other bytes.
  var hasChanged: Bool { changedFlag.load(ordering: .relaxed) }

  /// Returns the bytes, for which it blocks on the disk unless they are read already.
  ///
  /// - Throws: ``Changed`` if the bytes on the disk don't have the digest, or can't be read.
  func load() throws(Changed) -> Bytes {
    if let bytes { return bytes }
    guard let source, !hasChanged, let folder = try? RepositoryFolder(source.root),
      let found = try? folder.read(source.entry).bytes,
      unsafe SHA256.hash(found.buffer.bytes) == digest
    else {
      changedFlag.store(true, ordering: .relaxed)
      throw Changed()
    }
    return read.keep(found.placedForSending())
  }

  /// The compressed forms, or nil until they are made.
  var variants: Variants? { compressed.value }

  /// Makes the compressed forms of bytes that are read, which takes some milliseconds for 30 KB.
  func compress() { if variants == nil, let bytes { _ = compressed.keep(Variants(bytes)) } }
}

extension [FileContent] {
  /// The contents by their digests.
  var byDigest: [SHA256.Digest: FileContent] {
    Dictionary(map { ($0.digest, $0) }, uniquingKeysWith: { first, _ in first })
  }
}

/// Reads and compresses contents on threads that give way to all others.
///
/// A request for a content that isn't read yet has it read, and a content is served as it is until its compressed forms are
/// there, so nothing waits for the end of a pass.
final class ContentPass: Sendable {
  private final class StopFlag: Sendable { let isSet = Atomic<Bool>(false) }

  private let stopFlag = StopFlag()
  private let reading: Task<Bool, Never>
  private let work: Task<Void, Never>

  /// Starts to read the contents that aren't read yet, and then to compress those that have no compressed forms yet.
  init(_ contents: [FileContent], on threads: ThreadPool) {
    let flag = stopFlag
    func forEach(_ contents: [FileContent], _ body: @escaping @Sendable (FileContent) -> Void) async
    {
      // Without room for a thread the contents stay as they are.
      _ = try? await threads.map(contents) { content in
        if !flag.isSet.load(ordering: .relaxed) { body(content) }
      }
    }
    reading = Task {
      await forEach(contents.filter { $0.bytes == nil }) { _ = try? $0.load() }
      return contents.allSatisfy { $0.bytes != nil }
    }
    work = Task { [reading] in
      _ = await reading.value
      await forEach(contents.filter { $0.variants == nil }) { $0.compress() }
    }
  }

  /// Leaves out the contents that no thread has begun with.
  func stop() { stopFlag.isSet.store(true, ordering: .relaxed) }

  /// Waits until the pass has read what it can.
  ///
  /// - Returns: whether all contents are read.
  func hasRead() async -> Bool { await reading.value }

  /// Waits for the end of the pass.
  func wait() async { await work.value }
}
