import Configuration
import FoundationEssentials
import Glibc
import Storage
import SystemCalls

/// The files of the data folder that belong to the store: keys above all.
struct KeptFiles {
  /// Files longer than this, in bytes, are no keys.
  private static let sizeLimit = 1 << 20

  /// The files, by their paths below the folder.
  private(set) var files: [Backup.File] = []
  /// The paths of files that are too large.
  private(set) var tooLarge: [String] = []

  /// Reads all files of the data folder but the store itself, the lock, and the folders of content
  /// that `repository` and `schemas` keys name.
  ///
  /// - Parameters:
  ///   - configuration: names the data folder.
  ///   - store: the store's file.
  /// - Throws: what a file can't be read for.
  init(of configuration: LoadedConfiguration, besides store: String) throws {
    let root = configuration.server.data
    let content = configuration.settings.filter {
      $0.key.hasSuffix(".repository") || $0.key.hasSuffix(".schemas")
    }.map(\.value)
    let left = Set([store, store + "-wal", store + "-shm", store + "-journal", root + "/awd.lock"])
    try walk(root, below: "") { path in
      left.contains(path) || content.contains("\"\(path)\"")
    }
  }

  private mutating func walk(
    _ folder: String, below prefix: String, leavingOut isLeftOut: (String) -> Bool
  ) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
      let path = "\(folder)/\(name)"
      var status = stat()
      guard !isLeftOut(path), unsafe lstat(path, &status) == 0 else { continue }
      switch status.st_mode & S_IFMT {
      case S_IFDIR: try walk(path, below: "\(prefix)\(name)/", leavingOut: isLeftOut)
      case S_IFREG where status.st_size > Self.sizeLimit: tooLarge.append(prefix + name)
      case S_IFREG:
        let content = [UInt8](try Data(contentsOf: URL(filePath: path)))
        files.append(Backup.File(path: prefix + name, content: content))
      default: break
      }
    }
  }

  /// Puts files below a folder, for this user's eyes only, and waits for the disk.
  ///
  /// - Parameters:
  ///   - files: those of a backup.
  ///   - root: the data folder, which is there.
  /// - Throws: an error if a file is there already with other content: nothing is written then.
  static func restore(_ files: [Backup.File], below root: String) throws(RestoreError) {
    var missing: [Backup.File] = []
    for file in files {
      let path = "\(root)/\(file.path)"
      guard unsafe access(path, F_OK) == 0 else {
        missing.append(file)
        continue
      }
      guard let there = try? Data(contentsOf: URL(filePath: path)), [UInt8](there) == file.content
      else { throw RestoreError("\(path) is there already, with other content; move it away") }
    }
    for file in missing { try write(file, below: root) }
  }

  private static func write(_ file: Backup.File, below root: String) throws(RestoreError) {
    var folder = root
    do throws(SystemError) {
      for name in file.path.split(separator: "/").dropLast() {
        folder += "/\(name)"
        guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw SystemError(errno) }
        try DurableFile.sync(folderOf: folder)
      }
      try DurableFile.create("\(root)/\(file.path)", file.content, mode: 0o600)
      try DurableFile.sync(folder)
    } catch { throw RestoreError("\(root)/\(file.path): \(error)") }
  }
}

/// A file of a backup can't be put back.
struct RestoreError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
