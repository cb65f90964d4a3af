internal import Configuration
internal import Glibc
internal import ServiceKit
internal import Storage

/// `awd restore`: puts a backup where a server will find it, and never overwrites anything. Everything is checked before
/// anything is put in place, and nothing of a refused backup stays.
struct RestoreCommand: Command {
  static let name = "restore"
  static let summary = "Restore a backup where no store is yet, while no server runs"
  static let parameters: [CommandParameter] = [
    .configuration, .flag("check", "check the backup and show what it would restore; put nothing"),
    .json, .operand("FILE", "a file that `awd backup` made"),
  ]

  private struct Report: Encodable {
    struct Part: Encodable {
      let path: String
      let size: Int
      let sha256: String
    }

    let store: String
    let madeAt: String
    let madeBy: String
    let keys: [String]
    let parts: [Part]
    let isRestored: Bool
    /// The reason why it can't be restored now.
    let obstacle: String?
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(context, including: context.services)
    guard let store = configuration.server.store.path else {
      throw CommandError.refused("the store is none of SQLite's")
    }
    do {
      let backup = try Backup(
        opening: context.arguments.operands[0],
        migrations: context.services.flatMap { $0.migrations })
      let files = try BackupFiles(of: configuration, services: context.services)
        .destinations(of: backup.files)
      var obstacle: CommandError?
      do throws(CommandError) {
        let absent = try missing(of: files, beside: store)
        if !context.arguments.has("check") {
          try restore(
            backup, absent, to: store, data: configuration.server.data,
            without: context.services.flatMap { $0.unrestoredTables })
        }
      } catch {
        guard context.arguments.has("check") else { throw error }
        obstacle = error
      }
      try tell(context, backup, files, store: store, obstacle: obstacle)
    } catch {
      throw CommandError.refused("nothing is restored: \(error)")
    }
  }

  /// Returns the files that are to be written.
  ///
  /// - Throws: an error if anything is in the way.
  private static func missing(
    of files: [Backup.File], beside store: String
  ) throws(CommandError) -> [Backup.File] {
    // A log of another store would be taken for the restored one's.
    for path in [store, store + "-wal", store + "-journal"] where unsafe access(path, F_OK) == 0 {
      throw .refused("\(path) is there already; move it away first")
    }
    return try BackupFiles.missing(of: files)
  }

  private static func restore(
    _ backup: borrowing Backup, _ files: [Backup.File], to store: String, data: String,
    without tables: [StaticString]
  ) throws(CommandError) {
    var placement = Placement()
    placement.note(DataFolderLock.path(in: data))
    try DataFolder.prepare(data)
    let lock = try DataFolderLock(data)
    defer { extendLifetime(lock) }
    try placement.write(files)
    placement.note(store)
    var progress = CopyProgress()
    defer { Terminal.clearProgress() }
    do {
      try backup.restore(to: store, without: tables) { progress.show($0, of: $1) }
    } catch { throw .refused("\(error)") }
    placement.keep()
  }

  private static func tell(
    _ context: CommandContext, _ backup: borrowing Backup, _ files: [Backup.File], store: String,
    obstacle: CommandError?
  ) throws {
    let manifest = backup.manifest
    let isRestored = !context.arguments.has("check")
    if context.arguments.has("json") {
      try context.print(
        json: Report(
          store: store, madeAt: "\(manifest.madeAt)", madeBy: manifest.version,
          keys: backup.files.map(\.path),
          parts: manifest.entries.map {
            Report.Part(
              path: $0.name == BackupManifest.database ? store : $0.name, size: $0.size,
              sha256: $0.sha256)
          }, isRestored: isRestored, obstacle: obstacle?.description))
      return
    }
    if !isRestored { context.print("The backup is whole. It would restore") }
    context.print("\(store): as of \(manifest.madeAt), from awd \(manifest.version.printable)")
    for file in files { context.print("  with \(file.path)") }
    if !isRestored {
      for entry in manifest.entries {
        let name = entry.name == BackupManifest.database ? "the database" : entry.name.printable
        context.print("  \(entry.sha256)  \(entry.size) bytes  \(name)")
      }
      if let obstacle { context.print("It can't be restored now: \(obstacle)") }
    }
  }
}
