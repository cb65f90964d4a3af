internal import Configuration
internal import Glibc
internal import Observability
internal import ServiceKit

/// `awd serve`: the daemon.
struct ServeCommand: Command {
  static let name = "serve"
  static let summary = "Serve all that is switched on, until SIGTERM; SIGHUP reloads"
  static let parameters = [CommandParameter.configuration]

  /// After how long a stop ends the process in any case: what starts it again waits 10 s at most.
  private static let stopLimit = Duration.milliseconds(9500)

  static func run(_ context: CommandContext) async throws {
    let load = { @Sendable () throws(ConfigurationError) in
      try LoadedConfiguration(
        file: context.arguments["config"], environment: context.environment,
        services: context.services)
    }
    let configuration: LoadedConfiguration
    do {
      configuration = try load()
    } catch {
      throw CommandError.refused("the configuration is not valid\n\(error)")
    }
    // Taken from here on, so that a signal during the start isn't lost.
    let signals = StopSignals.requests()
    let log = Log(
      level: configuration.server.log.level.logged, format: configuration.server.log.format.logged)
    try DataFolder.prepare(configuration.server.data)
    let lock = try DataFolderLock(configuration.server.data)
    defer { extendLifetime(lock) }
    let workplace = try await Workplace.open(configuration, services: context.services, log: log)
    do {
      let daemon = try await Daemon(in: workplace, services: context.services)
      try daemon.start()
      log.flush()
      suggest(daemon.examples, context.print)
      await daemon.run(
        until: signals, telling: NotifySocket(context.environment), reloading: load,
        within: stopLimit)
    } catch {
      await workplace.close()
      throw error
    }
    await workplace.close()
  }
}

extension ServeCommand {
  private static func suggest(_ examples: [ServiceExample], _ print: (String) -> Void) {
    guard !examples.isEmpty else { return }
    print("\nTry, in another terminal:\n")
    for example in examples { print("  \(example.outcome):\n    \(example.command)\n") }
    // They must not wait in a buffer for the daemon's end.
    fflush(nil)
  }
}

extension ServerConfiguration.Log.Level {
  /// The log's own word for it.
  var logged: Log.Level {
    switch self {
    case .debug: .debug
    case .info: .info
    case .warning: .warning
    case .error: .error
    }
  }
}

extension ServerConfiguration.Log.Format {
  /// The log's own word for it.
  fileprivate var logged: Log.Format {
    switch self {
    case .text: .text
    case .json: .json
    }
  }
}
