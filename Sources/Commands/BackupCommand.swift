internal import Configuration
internal import FoundationEssentials
internal import Glibc
internal import Platform
internal import ServiceKit
internal import Storage

/// `awd backup`: copies the store and the keys into one checked file, while a server may run.
struct BackupCommand: Command {
  static let name = "backup"
  static let summary = "Copy the store and the keys into one file, while the server runs"
  static let parameters: [CommandParameter] = [
    .configuration, .flag("no-keys", "leave out the keys and the other files of the data folder"),
    .json,
    .operand("FILE", "the file to make, which must not exist"),
  ]

  private struct Report: Encodable {
    let file: String
    let store: String
    let keys: [String]
    let leftOut: [String]
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(context, including: context.services)
    let store = configuration.server.store.name
    let path = context.arguments.operands[0]
    let (files, leftOut) =
      try context.arguments.has("no-keys")
      ? ([], []) : BackupFiles(of: configuration, services: context.services).read()
    var progress = CopyProgress()
    defer { Terminal.clearProgress() }
    do {
      try Backup.make(
        of: configuration.store, migrations: context.services.migrations, at: path, with: files,
        version: Product.version, madeAt: .now()
      ) { progress.show($0, of: $1) }
    } catch { throw CommandError.refused("\(path) is not made: \(error)") }
    Terminal.clearProgress()
    try context.print(
      json: Report(file: path, store: store, keys: files.map(\.path), leftOut: leftOut)
    ) {
      context.print("\(path): the store \(store), checked")
      for file in files { context.print("  with \(file.path)") }
      for path in leftOut {
        context.print(
          "  without \(path.printable): too large for a key, or named like one that lies elsewhere")
      }
      if !files.isEmpty { context.print("It holds keys: keep it where nobody else can read it.") }
    }
  }
}

/// The files that a backup holds beside the store: keys above all, and what else lies in the data folder.
///
/// A backup names a file by its path below the data folder. A file that a service's key names, such as
/// `apptimist.keys`, is named by that key: it may lie anywhere, and elsewhere after a restoration. The same rule says
/// which files are copied and which are put back: none of the store's own, none of a service's content.
struct BackupFiles {
  /// The largest file that is taken for a key, in bytes.
  private static let sizeLimit = 1 << 20

  private let root: String
  /// The path of the store's file, if it is one.
  private let store: String?
  private let keyFiles: [String: String]
  /// The paths that are never copied nor put back, with everything below them.
  private let others: Set<String>

  /// Knows where the files lie.
  ///
  /// - Parameter services: all services, which name their keys and contents.
  init(of configuration: LoadedConfiguration, services: [any Service.Type]) {
    root = configuration.server.data
    store = configuration.server.store.path
    keyFiles = configuration.keyFiles(of: services)
    let stored = store.map { path in ["", "-wal", "-shm", "-journal"].map { path + $0 } } ?? []
    others = Set(
      stored + [DataFolderLock.path(in: root)] + keyFiles.values
        + configuration.contentFolders(of: services).filter { !$0.isEmpty })
  }

  // MARK: - Copying

  /// Reads the services' files of keys, and the files of the data folder without the store, the lock and the services'
  /// folders of content.
  ///
  /// - Returns: the files by their names in the backup, and the paths below the data folder of those that are too large,
  ///   or named like a service's or the store's.
  /// - Throws: an error if a file can't be read.
  func read() throws -> (files: [Backup.File], leftOut: [String]) {
    var files: [Backup.File] = []
    for (name, path) in keyFiles.sorted(by: { $0.key < $1.key })
    where unsafe access(path, F_OK) == 0 {
      files.append(try read(path, named: name))
    }
    var leftOut: [String] = []
    try walk(root, below: "", &files, &leftOut)
    return (files, leftOut)
  }

  private func walk(
    _ folder: String, below prefix: String, _ files: inout [Backup.File], _ leftOut: inout [String]
  ) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
      let path = "\(folder)/\(name)"
      let name = prefix + name
      var status = stat()
      guard !others.contains(path), unsafe lstat(path, &status) == 0 else { continue }
      switch status.st_mode & S_IFMT {
      case S_IFDIR: try walk(path, below: "\(name)/", &files, &leftOut)
      case S_IFREG where status.st_size > Self.sizeLimit || destination(of: name) != path:
        leftOut.append(name)
      case S_IFREG: files.append(try read(path, named: name))
      default: break
      }
    }
  }

  private func read(_ path: String, named name: String) throws -> Backup.File {
    Backup.File(path: name, content: [UInt8](try Data(contentsOf: URL(filePath: path))))
  }

  // MARK: - Putting back

  /// Returns the path of a file by its name in a backup, or nil if it is none that a backup may hold.
  private func destination(of name: String) -> String? {
    if let path = keyFiles[name] { return path }
    let path = "\(root)/\(name)"
    guard name == name.printable, store.map({ path.hasPrefix($0) }) != true,
      !others.contains(where: {
        path == $0 || path.hasPrefix("\($0)/") || $0.hasPrefix("\(path)/")
      })
    else { return nil }
    return path
  }

  /// Returns the files of a backup with the paths that they are to have.
  ///
  /// - Throws: an error if one has a name that no backup may hold, or two can't both be put back.
  func destinations(of files: [Backup.File]) throws(CommandError) -> [Backup.File] {
    var placed: [Backup.File] = []
    for file in files {
      guard let path = destination(of: file.path) else {
        throw .refused("it holds a file that doesn't belong into a backup: \(file.path.printable)")
      }
      placed.append(Backup.File(path: path, content: file.content))
    }
    let paths = Set(placed.map(\.path))
    let folders = Set(paths.flatMap { path in paths.filter { path.hasPrefix("\($0)/") } })
    guard paths.count == placed.count, folders.isEmpty else {
      throw .refused("it holds files that take each other's place")
    }
    return placed
  }

  /// Returns the files that are not there yet.
  ///
  /// - Throws: an error if a file with other content is there already.
  static func missing(of files: [Backup.File]) throws(CommandError) -> [Backup.File] {
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
    return missing
  }
}

/// Shows the progress of a copy that takes longer than a second.
struct CopyProgress {
  private static let interval = Duration.seconds(1)
  private var next = ContinuousClock.now + interval

  /// Shows the progress if the last time is long enough ago.
  ///
  /// - Parameter done: the number of pages that are copied.
  mutating func show(_ done: Int, of total: Int) {
    guard ContinuousClock.now >= next else { return }
    next = .now + Self.interval
    Terminal.showProgress(done, of: total, "pages")
  }
}
