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
    .operand("FILE", "the file to make, which must not exist; - writes to standard output"),
  ]

  private struct Report: Encodable {
    let file: String
    let store: String
    let keys: [String]
    let leftOut: [String]
  }

  static func run(_ context: CommandContext) async throws {
    let path = context.arguments.operands[0]
    let isPiped = path == "-"
    guard !isPiped || !context.arguments.has("json") else {
      throw CommandError.usage("--json can't be used with -, as the backup itself is the output")
    }
    var status = stat()
    if unsafe !isPiped && stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR {
      throw CommandError.refused("\(path) is a folder; name a file in it, which must not exist")
    }
    let configuration = try LoadedConfiguration(context, including: context.services)
    try configuration.prepareForCommand(warn: context.warn)
    let store = configuration.server.store.name
    if let file = configuration.server.store.path {
      try DataFolder.requireStore(
        at: file, orElse: "nothing is backed up; name the server's configuration with --config")
    }
    let (files, leftOut) =
      try context.arguments.has("no-keys")
      ? ([], []) : BackupFiles(of: configuration, services: context.services).read()
    var progress = CopyProgress(of: configuration.store)
    defer { Terminal.clearProgress() }
    let target = isPiped ? BackupFiles.temporaryPath(in: configuration.server.data) : path
    if isPiped { UnfinishedFiles.add([target]) }
    defer { if isPiped { UnfinishedFiles.discard([target]) } }
    try checkFolder(of: target)
    let server = configuration.server
    if isPiped {
      try checkRoom(for: size(of: server.store.path), beside: target, server.diskReserve)
    }
    do {
      try Backup.make(
        of: configuration.store, migrations: context.services.migrations, at: target, with: files,
        version: Product.version, madeAt: .now()
      ) { done, total in
        // The store may grow meanwhile, and rows of PostgreSQL's have another size in the copy.
        if isPiped { try checkRoom(for: 0, beside: target, server.diskReserve) }
        progress.show(done, of: total)
      }
    } catch {
      let failure = isPiped ? "standard output gets no backup" : "\(path) is not made"
      throw CommandError.refused("\(failure): \(StoreCheck.advice(on: error))")
    }
    Terminal.clearProgress()
    if isPiped { try BackupFiles.copyToOutput(target) }
    BackupFiles.recordTime(in: configuration.server.data)
    let say = isPiped ? context.warn : context.print
    try context.print(
      json: Report(file: path, store: store, keys: files.map(\.path), leftOut: leftOut)
    ) {
      say("\(isPiped ? "standard output" : path): the store \(store), checked")
      for file in files { say("  with \(file.path)") }
      for path in leftOut {
        say(
          "  without \(path.printable): too large for a key, or named like one that lies elsewhere")
      }
      if !files.isEmpty { say("It holds keys: keep it where nobody else can read it.") }
    }
  }

  /// Returns the bytes of a store's file, which tell the size of its copy; 0 for a database that is no file.
  private static func size(of path: String?) -> Int {
    guard let path else { return 0 }
    return [path, path + "-wal"].reduce(0) { sum, path in
      var status = stat()
      return unsafe stat(path, &status) == 0 ? sum + Int(status.st_size) : sum
    }
  }

  /// Refuses to put more on a disk than leaves the server its room.
  ///
  /// - Parameters:
  ///   - size: the bytes that are yet to be written.
  ///   - path: the file that they go to.
  ///   - reserve: the free bytes that must remain.
  private static func checkRoom(
    for size: Int, beside path: String, _ reserve: Int
  ) throws(CommandError) {
    let folder = DurableFile.folder(of: path)
    guard let free = DiskSpace(at: folder)?.freeBytes, free - size < reserve else { return }
    throw .refused(
      "the copy that is made in \(folder) first would leave less than server.disk_reserve free "
        + "there, which has \(free >> 20) MiB; name a file on another disk instead of -")
  }

  /// Refuses a folder that isn't there, such as that of a disk which isn't mounted, or can't be written to.
  private static func checkFolder(of path: String) throws(CommandError) {
    let folder = DurableFile.folder(of: path)
    guard DataFolder.exists(folder) else {
      throw .refused("\(path) is not made: there is no folder \(folder)")
    }
    guard unsafe access(folder, W_OK) != 0 else { return }
    throw .refused(
      "\(path) is not made: user \(DataFolder.currentUser), whose data it is, may not write in \(folder); "
        + "choose another folder, or use `\(Product.name) backup - > FILE`")
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
    let stored = store.map(StoreLocation.files) ?? []
    others = Set(
      stored + [DataFolderLock.path(in: root)] + keyFiles.values
        + configuration.contentFolders(of: services).filter { !$0.isEmpty }
        + [Self.timePath(in: root)])
  }

  // MARK: - The time of the last backup

  private static func timePath(in folder: String) -> String { folder + "/last-backup" }

  /// Records that a backup was made now, for metrics. It isn't worth an error.
  static func recordTime(in folder: String) {
    let path = timePath(in: folder)
    unsafe unlink(path)
    _ = try? DurableFile.create(path, Array("\(Timestamp.now())\n".utf8), mode: 0o600)
  }

  /// Returns the time of the last backup that was made with a data folder, in seconds; nil without one.
  static func lastTime(in folder: String) -> Int? {
    var status = stat()
    guard unsafe stat(timePath(in: folder), &status) == 0 else { return nil }
    return status.st_mtim.tv_sec
  }

  // MARK: - Standard output

  /// A path for a backup that goes to standard output: beside the data, which it holds all of.
  static func temporaryPath(in folder: String) -> String {
    let folder = DataFolder.exists(folder) ? folder : "/tmp"
    return "\(folder)/backup.\(getpid()).tmp"
  }

  /// Copies a file to standard output.
  static func copyToOutput(_ path: String) throws(CommandError) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    defer { if file >= 0 { close(file) } }
    // Before the first byte: whoever reads may leave, which ends this process.
    unsafe unlink(path)
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    do throws(SystemError) {
      guard file >= 0 else { throw SystemError(errno) }
      while true {
        let count = unsafe Glibc.read(file, &buffer, buffer.count)
        guard count >= 0 else { throw SystemError(errno) }
        if count == 0 { return }
        try writeAll(Array(buffer[..<count]), to: STDOUT_FILENO)
      }
    } catch { throw .refused("standard output can't be written: \(error)") }
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
      guard !Self.isUnfinished(name) else { continue }
      let name = prefix + name
      var status = stat()
      guard !others.contains(path), unsafe lstat(path, &status) == 0 else { continue }
      switch status.st_mode & S_IFMT {
      case S_IFDIR: try walk(path, below: "\(name)/", &files, &leftOut)
      // Earlier backups and other stores, which would make each backup larger than the one before.
      case S_IFREG where Self.isDatabase(path): continue
      case S_IFREG where status.st_size > Self.sizeLimit || destination(of: name) != path:
        leftOut.append(name)
      case S_IFREG: files.append(try read(path, named: name))
      default: break
      }
    }
  }

  /// Returns whether a name is that of a file which a process that was killed had begun: its own has the number of the
  /// process in it.
  static func isUnfinished(_ name: String) -> Bool {
    let database = StoreLocation.database(of: name)
    return database.contains(/\.[0-9]+\.part$/)
      || database.contains(/\.[0-9]+-[0-9]+\.new$/)
      || database.contains(/^backup\.[0-9]+\.tmp$/)
      || database.contains(/^restore\.[0-9]+\.sqlite3$/)
  }

  private static func isDatabase(_ path: String) -> Bool {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return false }
    defer { close(file) }
    let magic = Array("SQLite format 3\0".utf8)
    var start = [UInt8](repeating: 0, count: magic.count)
    return unsafe Glibc.read(file, &start, start.count) == magic.count && start == magic
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

  /// Sorts files by what is at their paths.
  ///
  /// - Returns: the files that are not there yet, and the paths where other content is.
  static func compare(_ files: [Backup.File]) -> (missing: [Backup.File], inTheWay: [String]) {
    var missing: [Backup.File] = []
    var inTheWay: [String] = []
    for file in files {
      guard DataFolder.exists(file.path) else {
        missing.append(file)
        continue
      }
      let there = try? Data(contentsOf: URL(filePath: file.path))
      if there.map({ [UInt8]($0) }) != file.content { inTheWay.append(file.path) }
    }
    return (missing, inTheWay)
  }
}

/// Shows the progress of a copy that takes longer than a second.
struct CopyProgress {
  private static let interval = Duration.seconds(1)
  private var next = ContinuousClock.now + interval
  private let things: String

  /// - Parameter store: the one that is copied, or copied to: of PostgreSQL's, rows are counted.
  init(of store: StoreLocation) {
    things = if case .postgreSQL = store { "rows" } else { "pages" }
  }

  /// Shows the progress if the last time is long enough ago.
  ///
  /// - Parameter done: the number of things that are copied.
  mutating func show(_ done: Int, of total: Int) {
    guard ContinuousClock.now >= next else { return }
    next = .now + Self.interval
    Terminal.showProgress(done, of: total, things)
  }
}
