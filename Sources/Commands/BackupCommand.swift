internal import Configuration
internal import ServiceKit
internal import Storage
internal import Platform

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
