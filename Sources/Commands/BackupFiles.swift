internal import Configuration
internal import FoundationEssentials
internal import Glibc
internal import ServiceKit
internal import Storage
internal import SystemCalls

/// The files that a backup holds beside the store: keys above all, and what else lies in the data folder.
///
/// A backup names a file by its path below the data folder. A file that a service's key names, such as
/// `apptimist.keys`, is named by that key: it may lie anywhere, and elsewhere after a restoration.
struct BackupFiles {
  /// The largest file that is taken for a key, in bytes.
  private static let sizeLimit = 1 << 20

  /// The files, by their names in the backup.
  private(set) var files: [Backup.File] = []
  /// The paths below the data folder of files that are too large, or named like a service's.
  private(set) var leftOut: [String] = []

  /// Reads the services' files of keys, and the files of the data folder without the store, the lock and the services'
  /// folders of content.
  ///
  /// - Parameters:
  ///   - configuration: names the data folder and the store.
  ///   - services: all services, which say what are keys and what is content.
  /// - Throws: an error if a file can't be read.
  init(of configuration: LoadedConfiguration, services: [any Service.Type]) throws {
    let root = configuration.server.data
    let store = configuration.server.store.path
    let keyFiles = configuration.keyFiles(of: services)
    for (name, path) in keyFiles.sorted(by: { $0.key < $1.key })
    where unsafe access(path, F_OK) == 0 {
      files.append(try Self.read(path, named: name))
    }
    let names = Set(files.map(\.path))
    let others = Set(
      [store, store + "-wal", store + "-shm", store + "-journal", DataFolderLock.path(in: root)]
        + keyFiles.values + configuration.contentFolders(of: services))
    try walk(root, below: "", except: names, leavingOut: others)
  }

  private mutating func walk(
    _ folder: String, below prefix: String, except names: Set<String>,
    leavingOut others: Set<String>
  ) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
      let path = "\(folder)/\(name)"
      let name = prefix + name
      var status = stat()
      guard !others.contains(path), unsafe lstat(path, &status) == 0 else { continue }
      switch status.st_mode & S_IFMT {
      case S_IFDIR: try walk(path, below: "\(name)/", except: names, leavingOut: others)
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

  /// Returns the files of a backup with the paths that they are to have.
  ///
  /// - Parameters:
  ///   - files: the backup's files, by their names in it.
  ///   - root: the data folder.
  ///   - keyFiles: the services' files, by the keys that name them.
  static func destinations(
    of files: [Backup.File], below root: String, keyFiles: [String: String]
  ) -> [Backup.File] {
    files.map { file in
      Backup.File(path: keyFiles[file.path] ?? "\(root)/\(file.path)", content: file.content)
    }
  }

  /// Writes files that only this user can read, and waits for the disk.
  ///
  /// - Parameter files: the files, by their paths.
  /// - Throws: an error if a file with other content is there already. Then nothing is written.
  static func restore(_ files: [Backup.File]) throws(CommandError) {
    var missing: [Backup.File] = []
    for file in files {
      guard unsafe access(file.path, F_OK) == 0 else {
        missing.append(file)
        continue
      }
      guard let there = try? Data(contentsOf: URL(filePath: file.path)),
        [UInt8](there) == file.content
      else { throw .refused("\(file.path) is there already, with other content; move it away") }
    }
    for file in missing { try write(file) }
  }

  private static func write(_ file: Backup.File) throws(CommandError) {
    do throws(SystemError) {
      try DurableFile.makeFolder(DurableFile.folder(of: file.path))
      try DurableFile.create(file.path, file.content, mode: 0o600)
      try DurableFile.sync(folderOf: file.path)
    } catch { throw .refused("\(file.path): \(error)") }
  }
}
