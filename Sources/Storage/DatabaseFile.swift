internal import Glibc
internal import Synchronization

/// The file that all connections of a store open.
struct DatabaseFile: Sendable {
  /// What SQLite is given: a path that it cannot take for a URI, or the URI of a memory file.
  let name: String
  let isInMemory: Bool

  private static let memoryFiles = Atomic(0)

  /// A new file in memory, which is gone when its last connection is.
  static func memory() -> Self {
    let number = memoryFiles.add(1, ordering: .relaxed).newValue
    return Self(name: "file:/awd-\(number)?vfs=memdb", isInMemory: true)
  }

  /// The file at a path, made if it is not there, for its owner's eyes only.
  ///
  /// SQLite gives the log and the index beside it the same mode.
  ///
  /// - Throws: `.ioError` or `.full`.
  static func at(_ path: String) throws(StoreError) -> Self {
    let path = path.hasPrefix("/") ? path : "./" + path
    try makeFolder(of: path)
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      // Exactly this mode, whatever the umask.
      let result = fchmod(descriptor, 0o600)
      close(descriptor)
      guard result == 0 else { throw systemError("set the mode of the database") }
      // The new name must outlive a power loss as the rows do.
      try syncFolder(of: path)
    } else if errno != EEXIST {
      throw systemError("create the database")
    }
    return Self(name: path, isInMemory: false)
  }

  private static func makeFolder(of path: String) throws(StoreError) {
    let folder = parent(of: path)
    guard unsafe access(folder, F_OK) != 0 else { return }
    try makeFolder(of: folder)
    if unsafe mkdir(folder, 0o700) == 0 {
      try syncFolder(of: folder)
    } else if errno != EEXIST {
      throw systemError("create the database's folder")
    }
  }

  /// Makes the names in the folder of a file outlive a power loss.
  static func syncFolder(of path: String) throws(StoreError) {
    let descriptor = unsafe open(parent(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw systemError("open the database's folder") }
    let result = fsync(descriptor)
    close(descriptor)
    guard result == 0 else { throw systemError("sync the database's folder") }
  }

  /// The folder of an absolute path or of one that begins with `./`.
  private static func parent(of path: String) -> String {
    let end = path.lastIndex(of: "/") ?? path.startIndex
    return end == path.startIndex ? "/" : String(path[..<end])
  }

  /// What the system's last call says.
  static func systemError(_ doing: String) -> StoreError {
    let number = errno
    let reason = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    let isFull = number == ENOSPC || number == EDQUOT
    return StoreError(isFull ? .full : .ioError, "cannot \(doing): \(reason)")
  }
}
