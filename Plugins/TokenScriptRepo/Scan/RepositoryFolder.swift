internal import Glibc
internal import Platform
internal import Formats

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
    /// The status that the walk found, or nil if it didn't ask, or got no answer.
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
  ///   - path: the root, which may be a link.
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
