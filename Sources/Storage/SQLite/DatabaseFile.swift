internal import Glibc
internal import Platform
internal import Synchronization

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

  /// Names a file that is there, by a path that SQLite can't take for a URI.
  static func existing(_ path: String) -> Self {
    Self(name: path.hasPrefix("/") ? path : "./" + path, isInMemory: false)
  }

  /// Opens the file at a path, or makes one that only its owner can read.
  ///
  /// SQLite gives the log and the index beside it the same mode.
  ///
  /// - Throws: `.ioError` or `.full`.
  static func at(_ path: String) throws(StoreError) -> Self {
    let file = existing(path)
    try doing("create the database's folder") { () throws(SystemError) in
      try DurableFile.makeFolder(DurableFile.folder(of: file.name))
    }
    try doing("create the database") { () throws(SystemError) in
      do throws(SystemError) {
        try DurableFile.create(file.name, [], mode: 0o600)
        // The new name must outlive a power loss as the rows do.
        try DurableFile.sync(folderOf: file.name)
      } catch { if error.code != EEXIST { throw error } }
    }
    return file
  }

  /// The number of bytes of the file, without its log; 0 in memory.
  var size: Int {
    var status = stat()
    guard !isInMemory, unsafe stat(name, &status) == 0 else { return 0 }
    return Int(status.st_size)
  }

  /// Makes the names in the folder of a file outlive a power loss.
  static func syncFolder(of path: String) throws(StoreError) {
    try doing("sync the database's folder") { () throws(SystemError) in
      try DurableFile.sync(folderOf: path)
    }
  }

  /// Calls the system, and says what for if that fails.
  static func doing(_ work: String, _ body: () throws(SystemError) -> Void) throws(StoreError) {
    do throws(SystemError) { try body() } catch { throw systemError(work, error) }
  }

  /// Makes an error of one of the system.
  static func systemError(
    _ doing: String, _ error: SystemError = SystemError(errno)
  ) -> StoreError {
    let isFull = error.code == ENOSPC || error.code == EDQUOT
    return StoreError(isFull ? .full : .ioError, "cannot \(doing): \(error)")
  }
}
