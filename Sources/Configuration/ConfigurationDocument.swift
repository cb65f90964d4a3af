/// What is configured, before its meaning is known: the tree of a TOML file with the place of each
/// value, and the environment variables that override it.
public struct ConfigurationDocument: Sendable {
  /// The start of every environment variable that is read.
  static let variablePrefix = "AWD_"
  private static let fileSuffix = "_FILE"

  /// An environment variable that may override a key.
  struct Variable: Sendable {
    /// The name in the environment, which may end in `_FILE`.
    let name: String
    /// The value; nil if it couldn't be read, which is a problem already recorded.
    let text: String?
    /// Whether it came from a file and may therefore be a secret.
    var isFromFile: Bool { name.hasSuffix(ConfigurationDocument.fileSuffix) }
  }

  /// The configuration file as it was named; nil if there is none.
  public let file: String?
  let root: TOMLNode
  /// By the name without `_FILE`.
  let variables: [String: Variable]
  /// What is wrong with the variables, whatever keys they are for.
  let problems: [ConfigurationProblem]
  /// The folder that relative paths are relative to, with a slash at its end: that of the file; or
  /// empty for the working directory.
  let folder: String
  /// The data folder when none is configured; nil if it can't be told.
  let defaultDataFolder: String?

  /// Reads the configuration file and the environment.
  ///
  /// - Parameters:
  ///   - file: path of the TOML file, at most 1 MiB; nil: there is none, every key has its default.
  ///   - environment: all environment variables. Those that start with `AWD_` override keys;
  ///     `AWD_X_FILE` names a file (relative to the working directory) whose content, without the
  ///     newline at its end, is the value of `AWD_X`.
  ///   - reserved: variables that start with `AWD_` but are for somebody else, such as `AWD_CONFIG`.
  /// - Throws: the one problem that keeps the file from being read, with its place.
  public static func load(
    file: String?, environment: [String: String], reserved: Set<String> = []
  ) throws(ConfigurationError) -> ConfigurationDocument {
    var bytes: [UInt8] = []
    if let file {
      do throws(FileError) {
        bytes = try contents(ofFile: file, limit: TOMLNode.maximumSize)
      } catch {
        let message = "cannot read \(file): \(error.message)"
        throw ConfigurationError(
          problems: [ConfigurationProblem(origin: .default, key: "", message: message)])
      }
    }
    return try ConfigurationDocument(
      parsing: bytes, file: file, environment: environment, reserved: reserved)
  }

  /// Reads a configuration from the bytes of a file; otherwise as `load`.
  public init(
    parsing bytes: [UInt8], file: String?, environment: [String: String] = [:],
    reserved: Set<String> = []
  ) throws(ConfigurationError) {
    do throws(TOMLError) {
      root = try TOMLNode(parsing: bytes)
    } catch {
      let origin = ConfigurationOrigin.file(
        file ?? "", line: error.place.line, column: error.place.column)
      throw ConfigurationError(
        problems: [ConfigurationProblem(origin: origin, key: "", message: error.message)])
    }
    self.file = file
    var problems: [ConfigurationProblem] = []
    variables = Self.variables(
      environment.filter { !reserved.contains($0.key) }, problems: &problems)
    self.problems = problems
    if let file, let slash = file.lastIndex(of: "/") {
      folder = String(file[...slash])
    } else {
      folder = ""
    }
    defaultDataFolder = file == nil ? Self.stateFolder(environment: environment) : folder + "var"
  }

  /// The folder for data where nothing is configured: `awd` in `XDG_STATE_HOME` if that is an
  /// absolute path (XDG Base Directory Specification), else `~/.local/state/awd`; nil without a home.
  public static func stateFolder(environment: [String: String]) -> String? {
    if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/awd" }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
    return home + "/.local/state/awd"
  }

  private static func variables(
    _ environment: [String: String], problems: inout [ConfigurationProblem]
  ) -> [String: Variable] {
    var variables: [String: Variable] = [:]
    for (name, value) in environment where name.hasPrefix(variablePrefix) {
      guard name.hasSuffix(fileSuffix), name.count > (variablePrefix + fileSuffix).count else {
        variables[name] = Variable(name: name, text: value)
        continue
      }
      let plainName = String(name.dropLast(fileSuffix.count))
      var problem: String?
      var text: String?
      if environment[plainName] != nil {
        problem = "is set together with \(plainName); only one of them may be"
      } else {
        do throws(FileError) {
          let bytes = try contents(ofFile: value, limit: TOMLNode.maximumSize)
          text = textOfFile(bytes)
          if text == nil { problem = "\(value) is not UTF-8 text" }
        } catch {
          problem = "cannot read \(value): \(error.message)"
        }
        variables[plainName] = Variable(name: name, text: text)
      }
      if let problem {
        problems.append(
          ConfigurationProblem(origin: .environment(name), key: "", message: problem))
      }
    }
    return variables
  }

  /// A file's text without the newline at its end; nil if it isn't UTF-8.
  private static func textOfFile(_ bytes: [UInt8]) -> String? {
    var bytes = bytes[...]
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    return String(validating: bytes, as: UTF8.self)
  }
}
