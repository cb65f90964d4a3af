internal import Configuration
internal import FoundationEssentials
internal import Glibc
internal import Storage
internal import SystemCalls

/// The files that belong to the store: keys above all, and what else lies in the data folder.
///
/// A backup names a file by its path below the data folder, but one that a service's key names, such
/// as `apptimist.keys`, by that key: it may lie anywhere, and elsewhere after a restoration.
struct KeptFiles {
  /// Files longer than this, in bytes, are no keys.
  private static let sizeLimit = 1 << 20

  /// The files, by their names in the backup.
  private(set) var files: [Backup.File] = []
  /// The paths below the data folder of files that are too large, or named like a service's.
  private(set) var leftOut: [String] = []

  /// Reads the services' files of keys, and all files of the data folder but the store itself, the
  /// lock, and the folders of content that `repository` and `schemas` keys name.
  ///
  /// - Parameters:
  ///   - configuration: names the data folder and the store.
  ///   - keyFiles: the services' files by the keys that name them.
  /// - Throws: what a file can't be read for.
  init(of configuration: LoadedConfiguration, keyFiles: [String: String]) throws {
    let root = configuration.server.data
    let store = configuration.storePath
    let content = configuration.settings.filter {
      $0.key.hasSuffix(".repository") || $0.key.hasSuffix(".schemas")
    }.map(\.value)
    for (name, path) in keyFiles.sorted(by: { $0.key < $1.key })
    where unsafe access(path, F_OK) == 0 {
      files.append(try Self.read(path, named: name))
    }
    let names = Set(files.map(\.path))
    let others = Set(
      [store, store + "-wal", store + "-shm", store + "-journal", root + "/awd.lock"]
        + keyFiles.values)
    try walk(root, below: "", except: names) { path in
      others.contains(path) || content.contains("\"\(path)\"")
    }
  }

  private mutating func walk(
    _ folder: String, below prefix: String, except names: Set<String>,
    leavingOut isLeftOut: (String) -> Bool
  ) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
      let path = "\(folder)/\(name)"
      let name = prefix + name
      var status = stat()
      guard !isLeftOut(path), unsafe lstat(path, &status) == 0 else { continue }
      switch status.st_mode & S_IFMT {
      case S_IFDIR: try walk(path, below: "\(name)/", except: names, leavingOut: isLeftOut)
      case S_IFREG where status.st_size > Self.sizeLimit || names.contains(name):
        leftOut.append(name)
      case S_IFREG: files.append(try Self.read(path, named: name))
      default: break
      }
    }
  }

  private static func read(_ path: String, named name: String) throws -> Backup.File {
    Backup.File(path: name, content: [UInt8](try Data(contentsOf: URL(filePath: path))))
  }

  /// Where the files of a backup belong.
  ///
  /// - Parameters:
  ///   - files: those of the backup.
  ///   - root: the data folder.
  ///   - keyFiles: the services' files by the keys that name them.
  /// - Returns: the files, with the paths that they are to have.
  static func destinations(
    of files: [Backup.File], below root: String, keyFiles: [String: String]
  ) -> [Backup.File] {
    files.map { file in
      Backup.File(path: keyFiles[file.path] ?? "\(root)/\(file.path)", content: file.content)
    }
  }

  /// Puts files into their places, for this user's eyes only, and waits for the disk.
  ///
  /// - Parameter files: the files, by their paths.
  /// - Throws: an error if a file is there already with other content: nothing is written then.
  static func restore(_ files: [Backup.File]) throws(RestoreError) {
    var missing: [Backup.File] = []
    for file in files {
      guard unsafe access(file.path, F_OK) == 0 else {
        missing.append(file)
        continue
      }
      guard let there = try? Data(contentsOf: URL(filePath: file.path)),
        [UInt8](there) == file.content
      else { throw RestoreError("\(file.path) is there already, with other content; move it away") }
    }
    for file in missing { try write(file) }
  }

  private static func write(_ file: Backup.File) throws(RestoreError) {
    do throws(SystemError) {
      try DurableFile.makeFolder(DurableFile.folder(of: file.path))
      try DurableFile.create(file.path, file.content, mode: 0o600)
      try DurableFile.sync(folderOf: file.path)
    } catch { throw RestoreError("\(file.path): \(error)") }
  }
}

/// A file of a backup can't be put back.
struct RestoreError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
