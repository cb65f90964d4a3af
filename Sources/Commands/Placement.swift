internal import ServiceKit
internal import Glibc
internal import Storage
internal import Platform

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
  mutating func note(_ path: String) {
    guard unsafe access(path, F_OK) != 0 else { return }
    files.append(path)
    noteFolders(above: path)
  }

  private mutating func noteFolders(above path: String) {
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
      noteFolders(above: file.path)
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
