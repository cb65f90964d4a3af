internal import Cryptography
internal import Formats
internal import Glibc
internal import Platform

/// The repository on disk: finds the files that may be TokenScripts, and reads them.
///
/// It blocks on the disk, so it is used on threads outside the event loops. It never opens anything outside the root:
/// it walks paths one segment at a time from the root's descriptor without following links, and follows a link only to
/// a target below the root. It opens the root once, so a scan sees one folder even if the root is a link that is
/// switched meanwhile.
final class RepositoryFolder: Sendable {
  /// The reason why a file can't be read.
  struct Problem: Error, Equatable {
    /// The reason in words that anybody may see.
    let message: String
    /// True if the file is no longer there.
    var isMissing = false
  }

  /// A file that a walk found.
  struct Entry: Equatable, Sendable {
    /// The path that the file is known by.
    let path: RepositoryPath
    /// The path that the file is opened by, which differs from ``path`` behind a link.
    let location: RepositoryPath
    /// The status that the walk found, or nil if it has none.
    var status: FileStatus?
  }

  /// The result of a walk.
  struct Listing: Sendable {
    /// The files in the order of their paths.
    fileprivate(set) var entries: [Entry] = []
    /// The folders and links that were left out, with the reasons.
    fileprivate(set) var problems: [(path: RepositoryPath, message: String)] = []
  }

  /// The content of a file at one moment.
  struct Contents: Sendable {
    /// All bytes.
    let bytes: Bytes
    /// The status of the file with these bytes.
    let status: FileStatus
  }

  /// The largest depth of folders.
  static let depthLimit = 64
  /// The number of times that a file is read if it changes meanwhile.
  static let attempts = 3

  /// The root's path, as the folder was opened by.
  let path: String
  private let root: Descriptor
  private let realPath: [UInt8]
  private let sizeLimit: Int

  /// Opens the repository.
  ///
  /// - Parameters:
  ///   - sizeLimit: the largest number of bytes of a file.
  /// - Throws: ``SystemError`` if there is no such folder or it may not be read.
  init(_ path: String, sizeLimit: Int = 8 << 20) throws(SystemError) {
    self.path = path
    root = try Descriptor(folder: path)
    let resolved = try Platform.realPath(Array(path.utf8))
    realPath = resolved == [UInt8(ascii: "/")] ? [] : resolved
    self.sizeLimit = sizeLimit
  }

  /// Walks all folders.
  ///
  /// - Parameters:
  ///   - isWanted: selects files by their paths; by default those with a ``RepositoryPath/kind``.
  ///   - enter: is called with the location of each folder before its names are read.
  /// - Returns: the files and folders that are not hidden.
  /// - Throws: ``SystemError`` if the root can't be read. A folder below it that can't be read is a listed problem.
  func list(
    where isWanted: @escaping (RepositoryPath) -> Bool = { $0.kind != nil },
    entering enter: @escaping (RepositoryPath) -> Void = { _ in }
  ) throws(SystemError) -> Listing {
    var walk = Walk(isWanted: isWanted, enter: enter)
    let top = RepositoryPath("")
    try self.walk(root, Entry(path: top, location: top), depth: 0, &walk)
    // Links come last, so that each folder is known by its own path and no circle is walked.
    var next = 0
    while next < walk.links.count {
      follow(walk.links[next], &walk)
      next += 1
    }
    walk.listing.entries.sort { $0.path < $1.path }
    return walk.listing
  }

  /// Reads a whole file.
  ///
  /// - Returns: the bytes as they were at one moment.
  /// - Throws: ``Problem`` if the file can't be read, or changes each time that it is read.
  func read(_ entry: Entry) throws(Problem) -> Contents {
    do {
      for _ in 0..<Self.attempts {
        let file = try open(entry.location)
        let before = try file.status()
        guard before.kind == .file else { throw Problem(message: "it is not a regular file") }
        guard before.size <= sizeLimit else {
          throw Problem(message: "it has \(before.size) bytes; \(sizeLimit) are allowed")
        }
        // One byte more than the size shows a file that has grown.
        let bytes = try file.read(before.size + 1)
        if bytes.count == before.size, try file.status() == before {
          return Contents(bytes: bytes, status: before)
        }
      }
      throw Problem(message: "it changes while it is read")
    } catch let error as SystemError {
      throw Problem(message: "it can't be read: \(error)", isMissing: error.code == ENOENT)
    } catch let problem as Problem {
      throw problem
    } catch { throw Problem(message: "\(error)") }
  }

  /// The state of one walk.
  private struct Walk {
    let isWanted: (RepositoryPath) -> Bool
    let enter: (RepositoryPath) -> Void
    var listing = Listing()
    var links: [RepositoryPath] = []
    var folders: Set<FileStatus.Identity> = []
  }

  private func walk(
    _ folder: borrowing Descriptor, _ place: Entry, depth: Int, _ walk: inout Walk
  ) throws(SystemError) {
    guard depth <= Self.depthLimit else {
      walk.listing.problems.append(
        (place.path, "more than \(Self.depthLimit) folders in one another"))
      return
    }
    guard walk.folders.insert(try folder.status().identity).inserted else { return }
    walk.enter(place.location)
    for (name, kind) in try folder.entries() {
      let path = place.path.appending(name)
      var entry = Entry(path: path, location: place.location.appending(name))
      switch kind {
      case .file where walk.isWanted(path):
        entry.status = try? folder.status(of: name)
        walk.listing.entries.append(entry)
      case .folder:
        do throws(SystemError) {
          let folder = try folder.open(name[...], isFolder: true)
          try self.walk(folder, entry, depth: depth + 1, &walk)
        } catch { walk.listing.problems.append((path, "it can't be read: \(error)")) }
      case .link: walk.links.append(path)
      case .other where walk.isWanted(path):
        walk.listing.problems.append((path, "it is neither a file nor a folder"))
      case .file, .other: break
      }
    }
  }

  /// Lists the target of a link under the link's path.
  private func follow(_ link: RepositoryPath, _ walk: inout Walk) {
    do throws(SystemError) {
      let target = try Platform.realPath(realPath + [UInt8(ascii: "/")] + link.bytes)
      guard target.starts(with: realPath + [UInt8(ascii: "/")]) else {
        // A link to the root itself leads to nothing new.
        if target != realPath {
          walk.listing.problems.append((link, "the link leads out of the repository"))
        }
        return
      }
      let location = RepositoryPath(bytes: Array(target[(realPath.count + 1)...]))
      var entry = Entry(path: link, location: location)
      let opened = try open(location)
      let status = try opened.status()
      switch status.kind {
      case .folder: try self.walk(opened, entry, depth: link.segments.count, &walk)
      case .file where walk.isWanted(link):
        entry.status = status
        walk.listing.entries.append(entry)
      case .file, .link, .other: break
      }
    } catch { walk.listing.problems.append((link, "the link can't be followed: \(error)")) }
  }

  private func open(_ path: RepositoryPath) throws(SystemError) -> Descriptor {
    let segments = path.segments
    guard let name = segments.last else { throw SystemError(ENOENT) }
    guard let first = segments.dropLast().first else { return try root.open(name) }
    var folder = try root.open(first, isFolder: true)
    for segment in segments.dropLast().dropFirst() {
      folder = try folder.open(segment, isFolder: true)
    }
    return try folder.open(name)
  }
}

/// The path of a file below the repository's root: segments of any bytes but NUL, separated by `/`.
///
/// Linux does not require names to be UTF-8, so the bytes identify a file, and the text is for people.
struct RepositoryPath: Hashable, Comparable, Sendable {
  /// The path without a leading slash.
  let bytes: [UInt8]

  /// Makes a path of its bytes, without a leading slash.
  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Makes a path of text, without a leading slash.
  init(_ text: String) { bytes = Array(text.utf8) }

  /// Returns the path of a name in this folder.
  func appending(_ name: [UInt8]) -> RepositoryPath {
    RepositoryPath(bytes: bytes.isEmpty ? name : bytes + [UInt8(ascii: "/")] + name)
  }

  /// The segments of the path.
  var segments: [ArraySlice<UInt8>] { bytes.split(separator: UInt8(ascii: "/")) }

  /// The path as text, with U+FFFD for bytes that are not UTF-8.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The kind of a file in the repository, by its name.
  enum Kind: Equatable, Sendable {
    /// `*.xml` or `*.tsml`.
    case tokenScript
    /// `*.xml.gone` or `*.tsml.gone`, a mark that withdraws the file's contracts.
    case gone
  }

  /// The kind by the name, or nil for a file that the repository ignores.
  var kind: Kind? {
    if Self.isTokenScript(bytes[...]) { return .tokenScript }
    guard bytes.suffix(5).elementsEqual(".gone".utf8) else { return nil }
    return Self.isTokenScript(bytes.dropLast(5)) ? .gone : nil
  }

  /// Compares the paths by their bytes.
  static func < (left: RepositoryPath, right: RepositoryPath) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  private static func isTokenScript(_ name: ArraySlice<UInt8>) -> Bool {
    name.hasSuffix(".xml") || name.hasSuffix(".tsml")
  }
}

extension RepositoryPath: CustomStringConvertible {
  /// The path as text.
  var description: String { text }
}

/// The status of a file, as `fstat` gives it.
struct FileStatus: Equatable, Sendable {
  /// The kind of a name in a folder.
  enum Kind: Sendable { case file, folder, link, other }

  /// The kind of the file.
  var kind = Kind.file
  /// The size in bytes.
  let size: Int
  /// The device and the inode: the same for two names of one folder.
  let identity: Identity
  /// The time of the last change of the content, in nanoseconds since 1970.
  let modified: Int64
  /// The time of the last change of the content or the inode, in nanoseconds since 1970.
  let changed: Int64

  /// The device and the inode of a file.
  struct Identity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
  }

  /// The time of the last change of the content, in whole seconds.
  var lastModified: Timestamp { Timestamp(seconds: modified / 1_000_000_000) }

  /// Returns whether any later change of the file has another status.
  ///
  /// The clock of a file system may stand still for as long as two seconds, and a change meanwhile can't be distinguished from the
  /// one before.
  func isSettled(at time: Timestamp) -> Bool {
    let limit = (time.seconds - 2).multipliedReportingOverflow(by: 1_000_000_000)
    return !limit.overflow && max(modified, changed) < limit.partialValue
  }

  /// Converts a time, with the end of the range for times that don't fit.
  private static func nanoseconds(_ time: timespec) -> Int64 {
    let (seconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return time.tv_sec < 0 ? .min : .max }
    let (sum, carried) = seconds.addingReportingOverflow(Int64(time.tv_nsec))
    return carried ? .max : sum
  }
}

extension FileStatus {
  private static let kinds: [mode_t: Kind] = [S_IFREG: .file, S_IFDIR: .folder, S_IFLNK: .link]

  /// Converts the system's structure.
  init(_ status: stat) {
    self.init(
      kind: Self.kinds[status.st_mode & S_IFMT] ?? .other, size: Int(status.st_size),
      identity: Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)),
      modified: Self.nanoseconds(status.st_mtim), changed: Self.nanoseconds(status.st_ctim))
  }
}

extension Collection<UInt8> where Self: BidirectionalCollection {
  /// Returns whether the bytes end with those of a text.
  func hasSuffix(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    return text.withUTF8Buffer { unsafe suffix(count).elementsEqual($0) }
  }
}

/// The digest of the files below a repository's root: equal on two nodes if their folders serve the same.
enum RepositoryDigest {
  /// Hashes the paths and contents of files.
  ///
  /// - Parameter files: the files with the SHA-256 of their bytes, or nil for those that can't be read.
  static func of(_ files: some Sequence<(path: RepositoryPath, digest: SHA256.Digest?)>) -> [UInt8]
  {
    var text: [UInt8] = []
    for file in files.sorted(by: { $0.path < $1.path }) {
      text += file.path.bytes
      // No path contains a zero byte.
      text.append(0)
      text += file.digest?.bytes ?? SHA256.Digest().bytes
    }
    return SHA256.hash(text).bytes
  }

  /// Reads the files of a folder on threads, and hashes them.
  ///
  /// - Throws: ``SystemError`` if the folder can't be read or no thread be started.
  static func of(folder path: String, on threads: ThreadPool) async throws -> [UInt8] {
    let (folder, listing) = try await threads.run {
      let folder = try RepositoryFolder(path)
      return (folder, try folder.list())
    }
    let files = try await threads.map(listing.entries) { entry in
      let contents = try? folder.read(entry)
      return (
        path: entry.path, digest: contents.map { unsafe SHA256.hash($0.bytes.buffer.bytes) }
      )
    }
    return of(files + listing.unreadable)
  }
}

extension RepositoryFolder.Listing {
  /// The files that were found and can't be read.
  var unreadable: [(path: RepositoryPath, digest: SHA256.Digest?)] {
    problems.filter { $0.path.kind != nil }.map { (path: $0.path, digest: nil) }
  }
}
