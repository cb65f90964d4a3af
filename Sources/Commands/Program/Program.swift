internal import Configuration
internal import FoundationEssentials
internal import Glibc
package import ServiceKit
internal import Platform

/// The program with its own subcommands and those of the services.
package struct Program: Sendable {
  /// The exit codes of every command.
  enum ExitCode: Int32 {
    case done = 0
    case refused = 1
    case usage = 2
  }

  private let services: [any Service.Type]
  private let commands: [any Command.Type]
  /// The configuration file that counts if nothing else names one.
  private let machineFile: String

  /// Makes a program.
  ///
  /// - Parameters:
  ///   - services: all services that are built in.
  ///   - machineFile: the configuration file that counts if nothing else names one.
  package init(
    services: [any Service.Type], machineFile: String = CommandEnvironment.machineFile
  ) {
    self.services = services
    self.machineFile = machineFile
    commands = Self.commands(with: services)
  }

  /// Returns the commands of the program and of all services, in the order of overviews: those of the server, and then the
  /// others by their names, so that all of one kind of thing stand together, whoever has brought them.
  static func commands(with services: [any Service.Type]) -> [any Command.Type] {
    let server: [any Command.Type] = [
      ServeCommand.self, CheckCommand.self, BackupCommand.self, RestoreCommand.self,
      BenchCommand.self, CompletionCommand.self, CompleteCommand.self, ManualCommand.self,
      VersionCommand.self,
    ]
    let shared: [any Command.Type] = [
      KeysReplaceCommand.self, InviteNewCommand.self, InviteListCommand.self,
      InviteRevokeCommand.self, UserEraseCommand.self,
    ]
    let others = shared + services.flatMap { ($0 as? any Commanding.Type)?.commands ?? [] }
    return server + others.sorted { $0.name < $1.name }
  }

  /// Runs the command that the process's arguments name, and ends the process.
  package func main() -> Never {
    Self.fillStandardDescriptors()
    MemoryBlocks.map(from: 1 << 20)
    let words = Array(CommandLine.arguments.dropFirst())
    // Before any other thread exists: threads inherit what is blocked.
    let named = command(in: words)?.command
    if named == ServeCommand.self { StopSignals.block() }
    // Without a thread for it the signals end the process all the same.
    if named == BackupCommand.self || named == RestoreCommand.self { try? CleanupSignals.watch() }
    // The priority of the main thread, which all other tasks would inherit, asks for threads that come before others. Only
    // root may have them, and the system's log would say so for each.
    Task(priority: .medium) {
      let failure = Lock<SystemError?>(nil)
      let complain = { @Sendable (line: String) in
        // If that fails, nobody is left to report to.
        _ = try? Self.write(line, to: STDERR_FILENO)
      }
      var code = await run(
        words, environment: ProcessInfo.processInfo.environment,
        print: { line in
          do throws(SystemError) { try Self.write(line, to: STDOUT_FILENO) } catch {
            failure.withLock { $0 = error }
          }
        }, complain: complain, outputProblem: { failure.withLock(\.self) })
      // A server that runs for months isn't for the lines that it prints at its start.
      if code == .done, named != ServeCommand.self, let failure = failure.withLock(\.self) {
        complain("\(Product.name): the output can't be written: \(failure)")
        code = .refused
      }
      exit(code.rawValue)
    }
    // Not `dispatchMain`, nor an asynchronous main: on Linux both end in `sigsuspend` with an empty
    // mask, and the signals blocked above would end the process here.
    while true { pause() }
  }

  /// Opens `/dev/null` in place of each closed standard descriptor. Otherwise the next file or socket would get its
  /// number, and the log would be written into it. Who has closed standard output learns that nothing was printed, as that
  /// can't be written to.
  private static func fillStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      _ = unsafe open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR)
    }
  }

  /// Writes a line at once, without a buffer, for programs that read a pipe.
  private static func write(_ line: String, to descriptor: Int32) throws(SystemError) {
    try writeAll(Array("\(line.printableLines)\n".utf8), to: descriptor)
  }

  /// Runs the command that arguments name.
  func run(
    _ words: [String], environment: [String: String],
    print: @escaping @Sendable (String) -> Void, complain: @escaping @Sendable (String) -> Void,
    outputProblem: @escaping @Sendable () -> (any Error)? = { nil }
  ) async -> ExitCode {
    let help = HelpText(program: Product.name, commands: commands)
    let words = Self.normalized(words)
    guard let (command, rest) = command(in: words) else {
      return explain(words, help, print: print, complain: complain)
    }
    if rest.prefix(while: { $0 != "--" }).contains("--help") {
      print(help.page(of: command))
      return .done
    }
    do {
      let arguments = try CommandArguments(rest, for: command.parameters)
      let commandEnvironment = CommandEnvironment(
        file: CommandEnvironment.configurationFile(
          named: arguments["config"], environment, machineFile: machineFile),
        variables: environment, services: services, warn: complain)
      let context = CommandContext(
        arguments: arguments, services: services, environment: environment,
        configurationFile: commandEnvironment.file, print: print, warn: complain,
        outputProblem: outputProblem, readConfiguration: commandEnvironment.configuration(for:_:),
        openService: commandEnvironment.serviceContext(for:_:_:))
      try await closing(commandEnvironment.close) { try await command.run(context) }
      return .done
    } catch CommandError.usage(let problem) {
      complain("\(Product.name) \(command.name): \(problem)")
      complain("try: \(Product.name) \(command.name) --help")
      return .usage
    } catch CommandError.logged {
      return .refused
    } catch {
      complain("\(Product.name) \(command.name): \(Self.sentence(of: error))")
      return .refused
    }
  }

  /// Describes an error for people, and what to do where that is known. Foundation's own descriptions show its types.
  static func sentence(of error: any Error) -> String {
    guard let error = error as? CocoaError else { return StoreCheck.advice(on: error) }
    let reason =
      switch error.code {
      case .fileNoSuchFile, .fileReadNoSuchFile: "there is no such file or folder"
      case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
      case .fileWriteOutOfSpace: "the disk is full"
      case .fileWriteVolumeReadOnly: "the disk is read-only"
      case .fileWriteFileExists: "it is there already"
      default: "it can't be read or written (\(error.code.rawValue))"
      }
    guard let path = error.filePath ?? error.url?.path else { return reason }
    return "\(path): \(reason)"
  }

  /// Returns the words in the form that the rest of the program knows: `--help` behind them for `help` before them and for
  /// `-h`, and `version` for `--version`.
  private static func normalized(_ words: [String]) -> [String] {
    switch words.first {
    case "--version": return ["version"] + words.dropFirst()
    case "help": return words.dropFirst().filter { $0 != "-h" && $0 != "--help" } + ["--help"]
    default:
      let end = words.firstIndex(of: "--") ?? words.endIndex
      return words[..<end].map { $0 == "-h" ? "--help" : $0 } + words[end...]
    }
  }

  /// Finds the command with the longest name that the words begin with.
  ///
  /// - Returns: the command and the words behind its name, or nil if there is none.
  private func command(
    in words: [String]
  ) -> (command: any Command.Type, rest: ArraySlice<String>)? {
    let fitting = commands.filter {
      words.starts(with: $0.name.split(separator: " ").map(String.init))
    }
    guard let command = fitting.max(by: { $0.name.count < $1.name.count }) else { return nil }
    return (command, words.dropFirst(command.name.split(separator: " ").count))
  }

  /// Finds the command that mistyped words were meant to be. Words behind a command's name are its operands.
  private func suggestion(for words: [String]) -> String? {
    let names = commands.filter { !$0.isHidden }.map { $0.name }
    for count in stride(from: min(words.count, 2), to: 0, by: -1) {
      let typed = words.prefix(count).joined(separator: " ")
      let candidates = names.filter { $0.split(separator: " ").count == count }
      if let close = Suggestion.close(to: typed, among: candidates) { return close }
    }
    return nil
  }

  /// Prints help that was asked for, or complains of words that name no command.
  private func explain(
    _ words: [String], _ help: HelpText, print: (String) -> Void, complain: (String) -> Void
  ) -> ExitCode {
    let group = Array(words.prefix { !$0.hasPrefix("-") })
    if let overview = help.overview(of: group) {
      if words.dropFirst(group.count).first == "--help" {
        print(overview)
        return .done
      }
      if words == group {
        complain(overview)
        return .usage
      }
    }
    let name = group.joined(separator: " ")
    var problem = group.isEmpty ? "unknown option \(words[0])" : "unknown command \(name)"
    if let suggestion = suggestion(for: group) { problem += ", did you mean `\(suggestion)`?" }
    complain("\(Product.name): \(problem)")
    complain("try: \(Product.name) --help")
    return .usage
  }
}
