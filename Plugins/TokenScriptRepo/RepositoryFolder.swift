internal import Glibc
internal import SystemCalls

/// The repository on disk: finds the files that may be TokenScripts and reads them.
///
/// Blocks on the disk, so it is used on threads of its own only. Nothing outside the root is ever
/// opened: paths are gone down one segment at a time from the root's descriptor without following
/// links, and a link counts only if what it leads to lies below the root. The descriptor is opened
/// once, so that all of one scan sees one folder even if the root is a link that is switched.
final class RepositoryFolder: Sendable {
  /// What stands in the way of a file, in words for everybody.
  struct Problem: Error, Equatable {
    /// The words.
    let message: String
    /// Whether the file is simply no longer there.
    var isMissing = false

    fileprivate init(_ message: String) { self.message = message }

    fileprivate init(_ error: SystemError) {
      message = "it can't be read: \(error)"
      isMissing = error.code == ENOENT
    }
  }

  /// A file that was found, and where its content lies.
  struct Entry: Equatable, Sendable {
    /// The path that it is known by.
    let path: RepositoryPath
    /// The path that it is opened by: another one for what a link leads to.
    let location: RepositoryPath
  }

  /// What a walk came upon.
  struct Listing: Sendable {
    /// The files, in the order of their paths.
    fileprivate(set) var entries: [Entry] = []
    /// The folders that were walked, by where they lie; the root among them.
    fileprivate(set) var folders: [RepositoryPath] = []
    /// Folders and links that were left out, with the reason.
    fileprivate(set) var problems: [(path: RepositoryPath, message: String)] = []
  }

  /// The content of a file at one moment.
  struct Contents: Sendable {
    /// All its bytes.
    let bytes: [UInt8]
    /// When the content last changed, in seconds since 1970.
    let modified: Int64
  }

  /// How many folders may lie in one another.
  static let depthLimit = 64
  /// How often a file that changes while it is read is read again.
  static let attempts = 3

  private let root: Descriptor
  private let realPath: [UInt8]
  private let sizeLimit: Int

  /// Opens the repository.
  ///
  /// - Parameters:
  ///   - path: the root, which may be a link.
  ///   - sizeLimit: how many bytes a file may have.
  /// - Throws: ``SystemError`` when there is no such folder or it may not be read.
  init(_ path: String, sizeLimit: Int = 8 << 20) throws(SystemError) {
    root = try Descriptor(folder: path)
    let resolved = try SystemCalls.realPath(Array(path.utf8))
    realPath = resolved == [UInt8(ascii: "/")] ? [] : resolved
    self.sizeLimit = sizeLimit
  }

  /// Walks all folders.
  ///
  /// - Parameter isWanted: which files are meant: if not given, those that have a kind.
  /// - Returns: the files, hidden ones left out.
  /// - Throws: ``SystemError`` when the root can't be read; anything below it is a problem listed.
  func list(
    where isWanted: @escaping (RepositoryPath) -> Bool = { $0.kind != nil }
  ) throws(SystemError) -> Listing {
    var walk = Walk(isWanted: isWanted)
    let top = RepositoryPath("")
    try self.walk(root, Entry(path: top, location: top), depth: 0, &walk)
    // Links come last, so that a folder is known by its own path first and no circle is walked.
    var next = 0
    while next < walk.links.count {
      follow(walk.links[next], &walk)
      next += 1
    }
    walk.listing.entries.sort { $0.path < $1.path }
    return walk.listing
  }

  /// Reads a file whole.
  ///
  /// - Parameter entry: as ``list()`` found it.
  /// - Returns: its bytes, as they were at one moment.
  /// - Throws: ``Problem``; a file that changes whenever it is read is one.
  func read(_ entry: Entry) throws(Problem) -> Contents {
    for _ in 0..<Self.attempts {
      let attempt: Result<Contents, Problem>?
      do throws(SystemError) { attempt = try readOnce(entry) } catch { throw Problem(error) }
      if let attempt { return try attempt.get() }
    }
    throw Problem("it changes while it is read")
  }

  /// Reads a file; nil if it changed meanwhile.
  private func readOnce(_ entry: Entry) throws(SystemError) -> Result<Contents, Problem>? {
    let file = try open(entry.location)
    let before = try file.status()
    guard before.kind == .file else { return .failure(Problem("it is not a regular file")) }
    guard before.size <= sizeLimit else {
      return .failure(Problem("it has \(before.size) bytes; \(sizeLimit) are allowed"))
    }
    // One byte more than there should be, to see that the file has not grown.
    let bytes = try file.read(before.size + 1)
    guard bytes.count == before.size, try file.status() == before else { return nil }
    return .success(Contents(bytes: bytes, modified: before.modified / 1_000_000_000))
  }

  /// The state of one walk.
  private struct Walk {
    let isWanted: (RepositoryPath) -> Bool
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
    walk.listing.folders.append(place.location)
    for (name, kind) in try folder.entries() {
      let path = place.path.appending(name)
      let entry = Entry(path: path, location: place.location.appending(name))
      switch kind {
      case .file where walk.isWanted(path): walk.listing.entries.append(entry)
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

  /// Looks where a link leads, and takes it for the file or the folder there.
  private func follow(_ link: RepositoryPath, _ walk: inout Walk) {
    do throws(SystemError) {
      let target = try SystemCalls.realPath(realPath + [UInt8(ascii: "/")] + link.bytes)
      guard target.starts(with: realPath + [UInt8(ascii: "/")]) else {
        // A link to the root itself only leads to what is known already.
        if target != realPath {
          walk.listing.problems.append((link, "the link leads out of the repository"))
        }
        return
      }
      let location = RepositoryPath(bytes: Array(target[(realPath.count + 1)...]))
      let entry = Entry(path: link, location: location)
      let opened = try open(location)
      switch try opened.status().kind {
      case .folder: try self.walk(opened, entry, depth: link.segments.count, &walk)
      case .file where walk.isWanted(link): walk.listing.entries.append(entry)
      case .file, .link, .other: break
      }
    } catch {
      walk.listing.problems.append((link, "the link can't be followed: \(error)"))
    }
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
