internal import Configuration
internal import Observability
internal import ServiceKit
internal import Storage
internal import Time

/// `awd backup`: a checked copy of the store and the keys in one file, made beside a running server.
struct BackupCommand: Command {
  static let name = "backup"
  static let summary = "Copy the store and the keys into one file, while it serves"
  static let parameters: [CommandParameter] = [
    .configuration, .flag("no-keys", "leave out the keys and the other files of the data folder"),
    .json,
    .operand("FILE", "the file to make, which must not be there"),
  ]

  private struct Report: Encodable {
    let file: String
    let store: String
    let keys: [String]
    let leftOut: [String]
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(ofAllServices: context)
    let store = configuration.storePath
    let path = context.arguments.operands[0]
    let kept =
      try context.arguments.has("no-keys")
      ? nil : KeptFiles(of: configuration, keyFiles: configuration.keyFiles(of: context.services))
    let files = kept?.files ?? []
    var progress = CopyProgress()
    defer { Terminal.clearProgress() }
    do {
      try Backup.make(
        of: store, at: path, with: files, version: Product.version,
        seconds: Timestamp.now().seconds
      ) { progress.tell($0, of: $1) }
    } catch {
      throw CommandError.refused("\(path) is not made: \(error)")
    }
    Terminal.clearProgress()
    if context.arguments.has("json") {
      try context.print(
        json: Report(
          file: path, store: store, keys: files.map(\.path), leftOut: kept?.leftOut ?? []))
      return
    }
    context.print("\(path): the store \(store), checked")
    for file in files { context.print("  with \(file.path)") }
    for path in kept?.leftOut ?? [] {
      context.print("  without \(path): too large for a key, or named like one that lies elsewhere")
    }
    if !files.isEmpty { context.print("It holds keys: keep it where nobody else can read it.") }
  }
}

extension LoadedConfiguration {
  /// The configuration that `--config` names, with the sections of services that are switched off,
  /// too: the store holds their tables.
  ///
  /// - Throws: ``CommandError`` with all that is wrong.
  init(ofAllServices context: CommandContext) throws(CommandError) {
    do {
      try self.init(
        file: context.arguments["config"], environment: context.environment,
        services: context.services, including: context.services)
    } catch {
      throw .refused("the configuration is not valid\n\(error)")
    }
  }

  /// The file of the store.
  var storePath: String {
    switch server.store {
    case .sqlite(let path): path
    }
  }
}
