internal import Configuration
internal import Glibc
internal import Observability
internal import ServiceKit

/// `awd serve`: the daemon.
struct ServeCommand: Command {
  static let name = "serve"
  static let summary = "Serve all services that are switched on, until SIGTERM; SIGHUP reloads"
  static let parameters: [CommandParameter] = [
    .configuration,
    .flag("trust-clock", "delete by the clock what is too old, though awd saw less time pass"),
  ]

  /// The time after which a stop ends the process in any case. Service managers wait for 10 s or more.
  private static let stopLimit = Duration.milliseconds(9500)

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(context)
    // From here on, so that a signal during the start isn't lost.
    let signals = try StopSignals.requests()
    let log = Log(level: configuration.server.logLevel, format: configuration.server.logFormat)
    try DataFolder.prepare(configuration.server.data)
    // Nodes on one machine may share the folder of their keys.
    let lock =
      configuration.server.store.path == nil
      ? nil : try DataFolderLock(configuration.server.data)
    defer { extendLifetime(lock) }
    let runtime = try await ServiceRuntime.open(
      configuration, services: context.services, log: log, isServing: true,
      trustsClock: context.arguments.has("trust-clock"))
    do {
      try await runtime.node.join()
      let reload = { @Sendable () throws(ConfigurationError) in
        try LoadedConfiguration(
          file: context.arguments["config"], environment: context.environment,
          services: context.services)
      }
      let daemon = try await Daemon(in: runtime, services: context.services)
      // Services have made the files that were missing.
      try await runtime.node.compareKeys()
      try daemon.start()
      log.flush()
      suggest(daemon.examples, context.print)
      await daemon.run(
        until: signals, telling: NotifySocket(context.environment), reloading: reload,
        within: stopLimit)
    } catch {
      await runtime.node.leave()
      await runtime.close()
      throw error
    }
    await runtime.close()
  }
}

extension ServeCommand {
  private static func suggest(_ examples: [ServiceExample], _ print: (String) -> Void) {
    guard !examples.isEmpty else { return }
    print("\nTry, in another terminal:\n")
    for example in examples { print("  \(example.outcome):\n    \(example.command)\n") }
    // Examples must not wait in a buffer for the daemon's end.
    fflush(nil)
  }
}
