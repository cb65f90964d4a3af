internal import Configuration
internal import Glibc
internal import Platform
internal import ServiceKit
internal import Storage

/// `awd restore`: puts a backup where a server will find it, and never overwrites anything. Everything is checked before
/// anything is put in place, and nothing of a refused backup stays.
struct RestoreCommand: Command {
  static let name = "restore"
  static let summary = "Restore a backup where no store is yet, while no server runs"
  static let parameters: [CommandParameter] = [
    .configuration, .flag("check", "check the backup and show what it would restore, no more"),
    .flag("keys", "restore the files of keys alone, beside a store that is there"),
    .json, .operand("FILE", "a file that `awd backup` made"),
  ]

  private struct Report: Encodable {
    struct Part: Encodable {
      let path: String
      let size: Int
      let sha256: String
    }

    /// The store that is restored; nil if it is the keys alone.
    let store: String?
    let madeAt: String
    let madeBy: String
    let keys: [String]
    let parts: [Part]
    let isRestored: Bool
    /// The reason why it can't be restored now.
    let obstacle: String?
  }

  /// What keeps a good backup from being restored now.
  private enum Obstacle: Error, CustomStringConvertible {
    /// Files are in the way, which may be moved into a folder that isn't there yet.
    case files([String], aside: String)
    /// The database can't take the rows.
    case database(String)

    /// The reason why nothing was restored.
    var description: String {
      switch self {
      case .files(let files, let aside):
        """
        these files are in the way, and none is overwritten: \(files.joined(separator: ", "))
        If they are those of a first start or not needed any more, stop the server, move them away, and restore again:
        \(Self.commands(moving: files, to: aside))
        """
      case .database(let reason): reason
      }
    }

    /// What has to be done before, for somebody who only had the backup checked: a running server is nothing bad.
    var advice: String {
      switch self {
      case .files(let files, let aside):
        """
        The backup is good. To restore it here, first stop the server and move the files away that are in the way, as \
        none is overwritten: \(files.joined(separator: ", "))
        \(Self.commands(moving: files, to: aside))
        """
      case .database(let reason):
        "The backup is good. To restore it here, first see to the database: \(reason)"
      }
    }

    private static func commands(moving files: [String], to aside: String) -> String {
      """
        systemctl stop awd
        install -d -m 0700 \(aside) && mv -n \(files.joined(separator: " ")) \(aside)/
      """
    }
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(context, including: context.services)
    do {
      let backup = try Backup(
        opening: context.arguments.operands[0],
        migrations: context.services.migrations)
      // Not before: root may have to read the backup.
      try configuration.prepareForCommand(warn: context.warn)
      let isKeysAlone = context.arguments.has("keys")
      let names = Set(configuration.keyFiles(of: context.services).keys)
      let kept = backup.files.filter { !isKeysAlone || names.contains($0.path) }
      guard !isKeysAlone || !kept.isEmpty else {
        throw CommandError.refused("the backup holds no files of keys; it was made with --no-keys")
      }
      let files = try BackupFiles(of: configuration, services: context.services)
        .destinations(of: kept)
      var obstacle: Obstacle?
      var absent: [Backup.File] = []
      do throws(Obstacle) {
        absent = try missing(
          of: files, with: backup, configuration, context.services, isKeysAlone: isKeysAlone)
      } catch {
        guard context.arguments.has("check") else { throw error }
        obstacle = error
      }
      if !context.arguments.has("check") {
        if isKeysAlone {
          var placement = Placement()
          try placement.write(absent)
          placement.keep()
        } else {
          try await restore(backup, absent, configuration, context.services)
        }
      }
      try report(
        context, backup, files, of: kept,
        store: isKeysAlone ? nil : configuration.server.store.name, obstacle: obstacle)
    } catch { throw CommandError.refused("nothing is restored: \(error)") }
  }

  /// Returns the files that are to be written.
  ///
  /// - Throws: what is in the way.
  private static func missing(
    of files: [Backup.File], with backup: borrowing Backup,
    _ configuration: LoadedConfiguration, _ services: [any Service.Type], isKeysAlone: Bool
  ) throws(Obstacle) -> [Backup.File] {
    let (missing, occupied) = BackupFiles.compare(files)
    var inTheWay = occupied
    if !isKeysAlone, let store = configuration.server.store.path {
      // A log of another store would be taken for the restored one's.
      inTheWay += StoreLocation.files(of: store).filter(DataFolder.exists)
    }
    guard inTheWay.isEmpty else {
      throw .files(inTheWay, aside: asideFolder(beside: configuration.server.data))
    }
    if !isKeysAlone, case .postgreSQL(let address) = configuration.store {
      do {
        try backup.checkRoom(at: address, migrations: services.migrations)
      } catch { throw .database(StoreCheck.advice(on: error)) }
    }
    return missing
  }

  /// Returns a folder for files that are in the way, which isn't there yet: in one that is, files of an earlier restoration
  /// with the same names may lie, perhaps the only ones of their kind.
  private static func asideFolder(beside data: String) -> String {
    let first = "\(data).before-restore"
    var folder = first
    var number = 1
    while DataFolder.exists(folder) {
      number += 1
      folder = "\(first)-\(number)"
    }
    return folder
  }

  private static func restore(
    _ backup: borrowing Backup, _ files: [Backup.File], _ configuration: LoadedConfiguration,
    _ services: [any Service.Type]
  ) async throws(CommandError) {
    let data = configuration.server.data
    var placement = Placement()
    placement.willCreate(DataFolderLock.path(in: data))
    try DataFolder.prepare(data)
    let lock = try DataFolderLock(data)
    defer { extendLifetime(lock) }
    try placement.write(files)
    var progress = CopyProgress(of: configuration.store)
    defer { Terminal.clearProgress() }
    do {
      let tables = configuration.unrestoredTables(of: services)
      switch configuration.store {
      case .file(let store):
        placement.willCreate(store)
        try backup.restore(to: store, without: tables) { progress.show($0, of: $1) }
      case .postgreSQL(let address):
        let copy = "\(data)/restore.\(getpid()).sqlite3"
        let names = StoreLocation.files(of: copy)
        UnfinishedFiles.add(names)
        defer { UnfinishedFiles.discard(names) }
        var pages = CopyProgress(of: .file(copy))
        try backup.restore(to: copy) { pages.show($0, of: $1) }
        let migrations = services.migrations
        try await applyPendingChanges(in: copy, migrations, configuration, services)
        try Backup.move(copy, to: address, migrations: migrations, without: tables) {
          progress.show($0, of: $1)
        }
      case .memory: throw CommandError.refused("the store is in memory")
      }
    } catch { throw .refused("\(error)") }
    placement.keep()
  }

  /// Applies the pending changes in a copy of a backup, so that its tables hold everything.
  private static func applyPendingChanges(
    in copy: String, _ migrations: [Migration], _ configuration: LoadedConfiguration,
    _ services: [any Service.Type]
  ) async throws {
    let store = try await Store.open(.file(copy), migrations: migrations)
    try await closing(store.close) {
      for service in services {
        try await configuration.backedUp(service)?.applyPendingChanges(in: store)
      }
    }
  }

  /// Prints what is restored, or would be.
  ///
  /// - Parameters:
  ///   - files: the files at their destinations.
  ///   - kept: the same files, as the backup names them.
  ///   - store: the name of the store; nil if it stays as it is.
  private static func report(
    _ context: CommandContext, _ backup: borrowing Backup, _ files: [Backup.File],
    of kept: [Backup.File], store: String?, obstacle: Obstacle?
  ) throws {
    let manifest = backup.manifest
    let names = Set(kept.map(\.path))
    let entries = manifest.entries.filter { entry in
      entry.name == BackupManifest.database ? store != nil : names.contains(entry.name)
    }
    let isRestored = !context.arguments.has("check")
    if context.arguments.has("json") {
      try context.print(
        json: Report(
          store: store, madeAt: "\(manifest.madeAt)", madeBy: manifest.version,
          keys: kept.map(\.path),
          parts: entries.map {
            Report.Part(
              path: $0.name == BackupManifest.database ? store ?? $0.name : $0.name, size: $0.size,
              sha256: $0.sha256)
          }, isRestored: isRestored, obstacle: obstacle?.description))
      return
    }
    if !isRestored { context.print("The backup is whole. It would restore") }
    context.print(
      "\(store ?? "the keys"): as of \(manifest.madeAt), from awd \(manifest.version.printable)")
    for file in files { context.print("  with \(file.path)") }
    if !isRestored {
      for entry in entries {
        let name = entry.name == BackupManifest.database ? "the database" : entry.name.printable
        context.print("  \(entry.sha256)  \(quantity(entry.size, "byte"))  \(name)")
      }
      if let obstacle { context.print(obstacle.advice) }
    }
  }
}
