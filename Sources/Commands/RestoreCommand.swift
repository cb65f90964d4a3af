internal import Configuration
internal import Glibc
internal import Observability
internal import ServiceKit
internal import Storage
internal import Time

/// `awd restore`: puts a backup where a server will find it; never over anything.
struct RestoreCommand: Command {
  static let name = "restore"
  static let summary = "Put a backup where no store is yet, for a server that is not running"
  static let parameters: [CommandParameter] = [
    .configuration, .json, .operand("FILE", "what `awd backup` made"),
  ]

  private struct Report: Encodable {
    let store: String
    let madeAt: String
    let madeBy: String
    let keys: [String]
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(ofAllServices: context)
    let store = configuration.storePath
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
      let files = KeptFiles.destinations(
        of: backup.files, below: data, keyFiles: configuration.keyFiles(of: context.services))
      try KeptFiles.restore(files)
      try backup.restore(to: store) { progress.tell($0, of: $1) }
      Terminal.clearProgress()
      let made = Timestamp(seconds: backup.seconds)
      if context.arguments.has("json") {
        try context.print(
          json: Report(
            store: store, madeAt: "\(made)", madeBy: backup.version, keys: backup.files.map(\.path))
        )
        return
      }
      context.print("\(store): as of \(made), from awd \(backup.version)")
      for file in files { context.print("  with \(file.path)") }
    } catch {
      throw CommandError.refused("nothing is restored: \(error)")
    }
  }
}
