internal import Configuration
internal import Glibc
internal import ServiceKit
internal import Storage

/// `awd restore`: puts a backup where a server will find it, and never overwrites anything.
struct RestoreCommand: Command {
  static let name = "restore"
  static let summary = "Restore a backup where no store is yet, while no server runs"
  static let parameters: [CommandParameter] = [
    .configuration, .json, .operand("FILE", "a file that `awd backup` made"),
  ]

  private struct Report: Encodable {
    let store: String
    let madeAt: String
    let madeBy: String
    let keys: [String]
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(context, including: context.services)
    let store = configuration.server.store.path
    let data = configuration.server.data
    try DataFolder.prepare(data)
    let lock = try DataFolderLock(data)
    defer { extendLifetime(lock) }
    // A log of another store would be taken for the restored one's.
    for path in [store, store + "-wal", store + "-journal"]
    where unsafe access(path, F_OK) == 0 {
      throw CommandError.refused("\(path) is there already; move it away first")
    }
    var progress = CopyProgress()
    defer { Terminal.clearProgress() }
    do {
      let backup = try Backup(
        opening: context.arguments.operands[0],
        migrations: context.services.flatMap { $0.migrations })
      let files = BackupFiles.destinations(
        of: backup.files, below: data, keyFiles: configuration.keyFiles(of: context.services))
      try BackupFiles.restore(files)
      try backup.restore(to: store) { progress.show($0, of: $1) }
      Terminal.clearProgress()
      if context.arguments.has("json") {
        try context.print(
          json: Report(
            store: store, madeAt: "\(backup.madeAt)", madeBy: backup.version,
            keys: backup.files.map(\.path)))
        return
      }
      context.print("\(store): as of \(backup.madeAt), from awd \(backup.version)")
      for file in files { context.print("  with \(file.path)") }
    } catch {
      throw CommandError.refused("nothing is restored: \(error)")
    }
  }
}
