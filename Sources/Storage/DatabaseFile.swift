internal import Glibc
internal import Synchronization
internal import SystemCalls

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
    do throws(SystemError) {
      try DurableFile.makeFolder(DurableFile.folder(of: path))
    } catch { throw storeError("create the database's folder", error) }
  }

  /// Makes the names in the folder of a file outlive a power loss.
  static func syncFolder(of path: String) throws(StoreError) {
    do throws(SystemError) { try DurableFile.sync(folderOf: path) } catch {
      throw storeError("sync the database's folder", error)
    }
  }

  /// What the system's last call says.
  static func systemError(_ doing: String) -> StoreError { storeError(doing, SystemError(errno)) }

  private static func storeError(_ doing: String, _ error: SystemError) -> StoreError {
    let isFull = error.code == ENOSPC || error.code == EDQUOT
    return StoreError(isFull ? .full : .ioError, "cannot \(doing): \(error)")
  }
}
