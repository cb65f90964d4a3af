internal import Glibc
internal import Synchronization
internal import SystemCalls

/// The file that all connections of a store open.
struct DatabaseFile: Sendable {
  /// The name for SQLite: a path that it can't take for a URI, or the URI of a memory file.
  let name: String
  let isInMemory: Bool

  private static let memoryFiles = Atomic(0)

  /// Makes a new file in memory, which disappears with its last connection.
  static func memory() -> Self {
    let number = memoryFiles.add(1, ordering: .relaxed).newValue
    return Self(name: "file:/awd-\(number)?vfs=memdb", isInMemory: true)
  }

  /// Opens the file at a path, or makes one that only its owner can read.
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

  /// The number of bytes of the file, without its log; 0 in memory.
  var size: Int {
    var status = stat()
    guard !isInMemory, unsafe stat(name, &status) == 0 else { return 0 }
    return Int(status.st_size)
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

  /// Makes an error of `errno`.
  static func systemError(_ doing: String) -> StoreError { storeError(doing, SystemError(errno)) }

  private static func storeError(_ doing: String, _ error: SystemError) -> StoreError {
    let isFull = error.code == ENOSPC || error.code == EDQUOT
    return StoreError(isFull ? .full : .ioError, "cannot \(doing): \(error)")
  }
}
