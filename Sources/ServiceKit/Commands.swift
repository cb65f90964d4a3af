internal import Configuration
internal import FoundationEssentials
internal import Glibc

/// A subcommand of the program.
package protocol Command: Sendable {
  /// The words that name the command: `"repo verify"`.
  static var name: String { get }
  /// The purpose in one line without a period, for `--help`.
  static var summary: String { get }
  /// The options and operands, without `--help`, which every command has.
  static var parameters: [CommandParameter] { get }
  /// True if overviews leave the command out, because only the program itself calls it.
  static var isHidden: Bool { get }

  /// Runs the command.
  ///
  /// - Throws: ``CommandError``, or another error that describes the reason of a refusal (exit code 1).
  static func run(_ context: CommandContext) async throws
}

extension Command {
  package static var isHidden: Bool { false }
}

/// The arguments of a command, and its ways to reach the rest of the program.
package struct CommandContext: Sendable {
  /// Reads what ``configuration(for:)`` returns.
  package typealias ReadConfiguration =
    @Sendable (any Service.Type, CommandArguments) throws -> any ServiceConfiguration
  /// Opens what ``serviceContext(for:onlyToRead:)`` returns; the last argument is `onlyToRead`.
  package typealias OpenService =
    @Sendable (any Service.Type, CommandArguments, _ onlyToRead: Bool) async throws
    -> ServiceContext

  /// The arguments, sorted by the command's parameters.
  package let arguments: CommandArguments
  /// All services that are built in, switched on or not.
  package let services: [any Service.Type]
  /// The environment variables.
  package let environment: [String: String]
  /// The configuration file that `--config`, `AWD_CONFIG` or the machine names, or nil for the development setting.
  package let configurationFile: String?
  /// Writes a line to standard output.
  package let print: @Sendable (String) -> Void
  /// Writes a line to standard error, which doesn't disturb a program that reads the output.
  package let warn: @Sendable (String) -> Void
  /// Returns why something that was printed couldn't be written; nil if all of it was.
  private let outputProblem: @Sendable () -> (any Error)?
  private let readConfiguration: ReadConfiguration
  private let openService: OpenService

  /// Makes a context.
  ///
  /// - Parameters:
  ///   - services: all services that are built in.
  ///   - outputProblem: returns why something that was printed couldn't be written.
  ///   - readConfiguration: makes the result of ``configuration(for:)``.
  ///   - openService: makes the result of ``serviceContext(for:onlyToRead:)``.
  package init(
    arguments: CommandArguments, services: [any Service.Type], environment: [String: String],
    configurationFile: String? = nil, print: @escaping @Sendable (String) -> Void,
    warn: @escaping @Sendable (String) -> Void = { _ in },
    outputProblem: @escaping @Sendable () -> (any Error)? = { nil },
    readConfiguration: @escaping ReadConfiguration, openService: @escaping OpenService
  ) {
    self.arguments = arguments
    self.services = services
    self.environment = environment
    self.configurationFile = configurationFile
    self.print = print
    self.warn = warn
    self.outputProblem = outputProblem
    self.readConfiguration = readConfiguration
    self.openService = openService
  }

  /// Reads a service's section of the configuration, and opens nothing.
  ///
  /// - Parameter service: the service, switched on or not.
  /// - Returns: its values.
  /// - Throws: the configuration's problems.
  package func configuration<S: Service>(for service: S.Type) throws -> S.Configuration {
    guard let configuration = try readConfiguration(service, arguments) as? S.Configuration else {
      throw CommandError.refused("\(service.name) has no configuration")
    }
    return configuration
  }

  /// Opens what `awd serve` with the same configuration would give to a service, the store included.
  ///
  /// For commands that work on the service's data, with a running server beside them or without one. Only the server
  /// makes a store: one that is missing is refused. As root, the rest of the command runs as the owner of the data folder.
  ///
  /// - Parameters:
  ///   - service: the service, switched on or not.
  ///   - onlyToRead: whether a missing store is replaced by an empty one in memory, as the command has other content
  ///     to work with.
  /// - Returns: the context, which is closed when the command ends.
  /// - Throws: the configuration's problems, or the store's.
  package func serviceContext(
    for service: any Service.Type, onlyToRead: Bool = false
  ) async throws -> ServiceContext { try await openService(service, arguments, onlyToRead) }
}

extension CommandContext {
  /// Prints a value as JSON if `--json` is given, and else in words.
  package func print(json value: some Encodable, or printWords: () -> Void) throws {
    if arguments.has("json") { try print(json: value) } else { printWords() }
  }

  /// Prints a value with a secret of which only a hash was stored: nobody could learn it later.
  ///
  /// - Parameter takeBack: takes back what was stored, if the secret can't be printed.
  package func print(
    secret value: some Encodable, printWords: () -> Void, takeBack: () async throws -> Void
  ) async throws {
    try print(json: value, or: printWords)
    guard let problem = outputProblem() else { return }
    try await takeBack()
    throw CommandError.refused(
      "the output can't be written, so what was made was taken back: \(problem)")
  }

  /// Prints a value as JSON, indented and with sorted keys, in the style of every command. What could change a terminal's
  /// state or direction is escaped, so that a program reads it and nobody is deceived by it.
  ///
  /// - Throws: the error of the value's encoding.
  package func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    print(Self.escaped(String(decoding: try encoder.encode(value), as: UTF8.self)))
  }

  /// Prints a text that is JSON already.
  package func print(encodedJSON text: String) { print(Self.escaped(text)) }

  /// Escapes what isn't printable; outside of strings JSON has nothing of the kind but line feeds.
  private static func escaped(_ json: String) -> String {
    var text = ""
    for scalar in json.unicodeScalars {
      guard scalar != "\n", !scalar.isPrintable else {
        text.unicodeScalars.append(scalar)
        continue
      }
      for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
        let digits = String(unit, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return text
  }
}

/// An option or operand of a command.
package enum CommandParameter: Sendable, Equatable {
  /// `--name`.
  case flag(_ name: String, _ help: String)
  /// `--name VALUE`, or `--name=VALUE`. Of several the last one counts, unless the command asks for all.
  case option(_ name: String, value: String, _ help: String)
  /// One operand, which is required.
  case operand(_ name: String, _ help: String)
  /// Further operands, with their least number.
  case operands(_ name: String, atLeast: Int, _ help: String)

  /// The option `--config FILE`, for every command that reads the configuration.
  package static let configuration = CommandParameter.option(
    "config", value: "FILE",
    "the configuration file; otherwise AWD_CONFIG names it, or it is /etc/awd/awd.toml")
  /// The flag `--json`, for every command whose output a program might read.
  package static let json = CommandParameter.flag("json", "print JSON")
}

/// The arguments of a command, sorted by its parameters.
package struct CommandArguments: Sendable, Equatable {
  private var values: [String: [String]] = [:]
  private var flags: Set<String> = []
  /// The operands, in order.
  package private(set) var operands: [String] = []

  /// Sorts arguments.
  ///
  /// Options may stand before, between and behind operands. `--` ends the options, and `-` is an operand.
  ///
  /// - Throws: `.usage` that says what is wrong.
  package init(_ words: some Collection<String>, for parameters: [CommandParameter])
    throws(CommandError)
  {
    var rest = Array(words)[...]
    var mayBeOption = true
    while let word = rest.popFirst() {
      guard mayBeOption, word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      if word == "--" {
        mayBeOption = false
        continue
      }
      guard word.hasPrefix("--") else { throw .usage("unknown option \(word)") }
      let equals = word.firstIndex(of: "=")
      let name = String(word[..<(equals ?? word.endIndex)].dropFirst(2))
      let value = equals.map { String(word[word.index(after: $0)...]) }
      try parse(name, value, &rest, parameters)
    }
    try checkOperands(parameters)
  }

  /// Returns whether a flag was given.
  package func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// The value of an option, the last of several, or nil if it wasn't given.
  package subscript(option: String) -> String? { values[option]?.last }

  /// Returns every value of an option that may be given more than once, in order.
  package func all(_ option: String) -> [String] { values[option] ?? [] }

  private mutating func parse(
    _ name: String, _ value: String?, _ rest: inout ArraySlice<String>,
    _ parameters: [CommandParameter]
  ) throws(CommandError) {
    for parameter in parameters {
      switch parameter {
      case .flag(name, _):
        guard value == nil else { throw .usage("--\(name) takes no value") }
        flags.insert(name)
        return
      case .option(name, let placeholder, _):
        guard let value = value ?? rest.popFirst(), !value.isEmpty else {
          throw .usage("--\(name) needs a value: --\(name) \(placeholder)")
        }
        values[name, default: []].append(value)
        return
      default: continue
      }
    }
    throw .usage("unknown option --\(name)")
  }

  private func checkOperands(_ parameters: [CommandParameter]) throws(CommandError) {
    var missing = operands.count
    var isOpen = false
    for case .operand(let name, _) in parameters {
      missing -= 1
      if missing < 0 { throw .usage("\(name) is missing") }
    }
    for case .operands(let name, let least, _) in parameters {
      isOpen = true
      if missing < least { throw .usage("\(name) is missing") }
    }
    if missing > 0 && !isOpen {
      throw .usage("unexpected argument \(operands[operands.count - missing])")
    }
  }
}

/// The reason why a command failed.
package enum CommandError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The command was refused or failed, for the given reason (exit code 1).
  case refused(String)
  /// The command was refused or failed for a reason that the log has already (exit code 1).
  case logged(String)
  /// The arguments are wrong (exit code 2).
  case usage(String)

  /// The reason.
  package var description: String {
    switch self {
    case .refused(let reason), .logged(let reason), .usage(let reason): reason
    }
  }
}

extension Unicode.Scalar {
  /// True if the character can't change a terminal's state or direction, nor move its cursor to another line.
  package var isPrintable: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}

extension String {
  /// The text with a replacement character for everything that could move a terminal's cursor.
  ///
  /// For text that others wrote, such as names of users.
  package var printable: String { keeping { $0.isPrintable } }

  /// The lines, each with ``printable`` text. Tabs stay.
  ///
  /// For everything that a command writes, whatever it is made of.
  package var printableLines: String {
    // Nearly all output is plain.
    if utf8.allSatisfy({ (0x20..<0x7f).contains($0) || $0 == 0x0a || $0 == 0x09 }) { return self }
    return keeping { $0 == "\n" || $0 == "\t" || $0.isPrintable }
  }

  /// Puts replacement characters in the place of all that may not stay.
  private func keeping(_ mayStay: (Unicode.Scalar) -> Bool) -> String {
    String(String.UnicodeScalarView(unicodeScalars.map { mayStay($0) ? $0 : "\u{FFFD}" }))
  }
}

extension CommandContext {
  /// The most bytes of a file that holds a secret.
  private static let secretLimit = 64 << 10

  /// Reads a secret of one line from a file or, without one, from standard input.
  ///
  /// A terminal shows nothing of the line. A file or a pipe holds the secret alone: more lines are a mistake, such as a
  /// password that is written twice, or the list that a loop around the command reads.
  ///
  /// - Parameter name: what it is, such as `password`.
  /// - Returns: the line, or an empty text if there is none.
  package func secret(_ name: String, from file: String?) throws(CommandError) -> String {
    let text: String
    if let file {
      do throws(FileError) {
        text = String(decoding: try contents(ofFile: file, limit: Self.secretLimit), as: UTF8.self)
      } catch { throw .refused("the \(name) can't be read from \(file): \(error.message)") }
    } else if isatty(STDIN_FILENO) == 1 {
      text = Terminal.hiddenLine(prompt: "\(name): ") ?? ""
    } else {
      text = String(decoding: Self.pipedInput(), as: UTF8.self)
    }
    let lines = text.split(whereSeparator: \.isNewline).map(String.init)
    let source = file ?? "standard input"
    guard lines.count <= 1 else {
      throw .refused("\(source) has more than one line: it must hold the \(name) alone")
    }
    let line = lines.first ?? ""
    // What isn't UTF-8 was replaced by this character. Nobody could log in with the result.
    guard !line.unicodeScalars.contains("\u{FFFD}") else {
      throw .refused(
        "the \(name) from \(source) is not in UTF-8: use a terminal or an editor that writes UTF-8")
    }
    return line
  }

  /// Reads standard input until a line has ended, and then what else is there already: a program that keeps its pipe open makes
  /// nobody wait.
  private static func pipedInput() -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count <= secretLimit {
      var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      if bytes.contains(UInt8(ascii: "\n")), unsafe poll(&input, 1, 0) <= 0 { break }
      let count = unsafe read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return bytes
  }
}

/// The terminal of a command, if its standard streams are one.
package enum Terminal {
  /// Returns the number of characters in a line.
  ///
  /// - Parameter environment: the environment variables. `COLUMNS` counts before the terminal's own width.
  /// - Returns: the width, or nil if standard output is no terminal.
  package static func width(_ environment: [String: String]) -> Int? {
    if let columns = environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 { return columns }
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1,
      unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0
    else { return nil }
    return Int(size.ws_col)
  }

  /// Shows the progress of long work on standard error: as a bar on a terminal, else as a line.
  ///
  /// - Parameters:
  ///   - done: the number of things that are done.
  ///   - things: the kind of things, such as `files`.
  package static func showProgress(_ done: Int, of total: Int, _ things: String) {
    let words = "\(done) of \(total) \(things)"
    guard isatty(STDERR_FILENO) == 1 else { return complain("\(words)\n") }
    let full = total > 0 ? barLength * done / total : 0
    let bar = String(repeating: "#", count: full) + String(repeating: ".", count: barLength - full)
    complain("\(startOfLine)[\(bar)] \(words)")
  }

  /// Removes the bar.
  package static func clearProgress() { if isatty(STDERR_FILENO) == 1 { complain(startOfLine) } }

  /// Reads a line of standard input, which a terminal doesn't show.
  ///
  /// - Parameter prompt: a prompt that is written to standard error if standard input is a terminal.
  /// - Returns: the line without its end, or nil if there is none.
  package static func hiddenLine(prompt: String) -> String? {
    guard TerminalSettings.change(to: .hiddenLines) else { return readLine() }
    defer {
      TerminalSettings.restore()
      complain("\n")
    }
    complain(prompt)
    return readLine()
  }

  private static let barLength = 40
  /// Returns to the start of the line and erases it (ECMA-48, EL).
  private static let startOfLine = "\r\u{1b}[K"

  private static func complain(_ text: String) {
    let bytes = Array(text.utf8)
    // If standard error can't be written to, nobody looks.
    _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
