internal import Glibc
internal import Platform
internal import ServiceKit
internal import Storage

/// The folder of everything that the daemon keeps.
enum DataFolder {
  /// Makes the folder and the missing ones above it, readable by this user alone.
  ///
  /// - Throws: ``CommandError`` that says what is wrong with the folder and how to mend it.
  static func prepare(_ path: String) throws(CommandError) {
    var made = path.hasPrefix("/") ? "/" : ""
    for part in path.split(separator: "/") {
      made += made.isEmpty || made.hasSuffix("/") ? String(part) : "/\(part)"
      if unsafe mkdir(made, 0o700) == 0 || errno == EEXIST || errno == EISDIR { continue }
      // A folder that exists may lie in one that may not be written to.
      if unsafe access(made, X_OK) == 0 { continue }
      throw refusal(path, "cannot make \(made)", errno)
    }
    guard unsafe access(path, R_OK | W_OK | X_OK) == 0 else {
      throw refusal(path, "cannot write there", errno)
    }
  }

  private static func refusal(_ path: String, _ problem: String, _ code: Int32) -> CommandError {
    let reason = unsafe String(cString: strerror(code))
    return .refused(
      "data folder \(path): \(problem): \(reason); "
        + "give it to this user, or choose another folder with `data` in [server]")
  }
}

/// The right to serve from a data folder, which one daemon at a time has: sessions of a second one would miss events of
/// the first.
///
/// The system releases the lock when the process ends, however it ends.
struct DataFolderLock: ~Copyable {
  private let descriptor: Int32

  /// The file that is locked.
  static func path(in folder: String) -> String { folder + "/awd.lock" }

  /// Takes the lock.
  ///
  /// - Parameter folder: the data folder, which exists.
  /// - Throws: ``CommandError`` if another daemon has the lock.
  init(_ folder: String) throws(CommandError) {
    let path = Self.path(in: folder)
    let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw .refused("cannot open \(path): \(unsafe String(cString: strerror(errno)))")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw .refused(
        "another awd serves from the data folder \(folder); "
          + "stop it, or choose another folder with `data` in [server]")
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}

/// Files and folders that are put in place, and can all be taken away again if one of them can't be put there.
struct Placement: ~Copyable {
  private var files: [String] = []
  private var folders: [String] = []
  private var isKept = false

  deinit {
    guard !isKept else { return }
    for file in files.reversed() { unsafe unlink(file) }
    // One that others put something into meanwhile stays.
    for folder in folders.reversed() { unsafe rmdir(folder) }
  }

  /// Leaves everything where it is.
  mutating func keep() { isKept = true }

  /// Notes a file that is about to be made by others, and the folders above it that will be made with it.
  ///
  /// - Parameter path: the file. One that exists is left alone.
  mutating func willCreate(_ path: String) {
    guard unsafe access(path, F_OK) != 0 else { return }
    files.append(path)
    recordMissingFolders(above: path)
  }

  private mutating func recordMissingFolders(above path: String) {
    var folder = DurableFile.folder(of: path)
    var missing: [String] = []
    while unsafe access(folder, F_OK) != 0, folder != ".", folder != "/" {
      missing.append(folder)
      folder = DurableFile.folder(of: folder)
    }
    for folder in missing.reversed() where !folders.contains(folder) { folders.append(folder) }
  }

  /// Writes files that only this user can read, and waits for the disk.
  ///
  /// - Parameter contents: the files, by their paths, of which none exists.
  /// - Throws: an error if one of them can't be written.
  mutating func write(_ contents: [Backup.File]) throws(CommandError) {
    for file in contents {
      recordMissingFolders(above: file.path)
      do throws(SystemError) {
        try DurableFile.makeFolder(DurableFile.folder(of: file.path))
        try DurableFile.create(file.path, file.content, mode: 0o600)
        // Not before: one that somebody else made meanwhile is theirs.
        files.append(file.path)
        try DurableFile.sync(folderOf: file.path)
      } catch { throw .refused("\(file.path): \(error)") }
    }
  }
}
