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

  /// Opens the store's file at a path, or makes one.
  ///
  /// A new file gets its name when its first table is in it and on the disk. So a file without tables is never the
  /// beginning of a first start, however that has ended, but the rest of a file that was cut off.
  ///
  /// - Throws: `.corrupt` if the file is empty, `.ioError` or `.full`.
  static func ofStore(at path: String) throws(StoreError) -> Self {
    let file = existing(path)
    if unsafe access(file.name, F_OK) != 0 { try make(file) }
    try file.requireContent()
    return file
  }

  private static let newFiles = Atomic(0)

  private static func make(_ file: Self) throws(StoreError) {
    let number = newFiles.add(1, ordering: .relaxed).newValue
    let temporary = "\(file.name).\(getpid())-\(number).new"
    defer { for name in StoreLocation.files(of: temporary) { unsafe unlink(name) } }
    let new = try at(temporary)
    // Closed before the file gets its name.
    try SQLiteMigrator.makeTables(SQLiteConnection(new, role: .copier, busyTimeout: .zero))
    // Unlike a renaming, a link never replaces a file that another process has made meanwhile.
    guard unsafe link(temporary, file.name) == 0 || errno == EEXIST else {
      throw systemError("create the database")
    }
    try syncFolder(of: file.name)
  }

  /// Refuses an empty file, before SQLite does: it takes one for a new database, and removes the log beside it, in which
  /// what was written last may be.
  ///
  /// - Throws: `.corrupt`, or `.ioError` if the file can't be looked at.
  func requireContent() throws(StoreError) {
    var status = stat()
    guard unsafe stat(name, &status) == 0 else { throw Self.systemError("open \(name)") }
    guard status.st_size > 0 else { throw .cutOff(name) }
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
