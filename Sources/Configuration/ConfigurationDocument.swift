/// A configuration before its keys are interpreted: the tree of a TOML file with the place of each value, and the
/// environment variables that override values.
package struct ConfigurationDocument: Sendable {
  /// The start of every environment variable that is read.
  static let variablePrefix = "AWD_"
  private static let fileSuffix = "_FILE"

  /// An environment variable that may override a key.
  struct Variable: Sendable {
    /// The name in the environment, which may end in `_FILE`.
    let name: String
    /// The value, or nil if it couldn't be read. That problem is recorded already.
    let text: String?
    /// True if the value came from a file and may therefore be a secret.
    var isFromFile: Bool { name.hasSuffix(ConfigurationDocument.fileSuffix) }
  }

  /// The configuration file as it was named, or nil if there is none.
  package let file: String?
  /// The top-level keys of the file.
  private(set) var root: [String: TOMLNode]
  /// The variables by their names without `_FILE`.
  private(set) var variables: [String: Variable]
  /// The problems with the variables themselves.
  private(set) var problems: [ConfigurationProblem]
  /// The folder that relative paths are relative to: that of the file, with a slash at its end, or empty for the working
  /// directory.
  let folder: String
  /// The data folder if none is configured, or nil if there is no default.
  let defaultDataFolder: String?

  /// Reads the configuration file and the environment.
  ///
  /// - Parameters:
  ///   - file: the path of the TOML file, at most 1 MiB, or nil to give every key its default.
  ///   - environment: all environment variables. Those that start with `AWD_` override keys.
  ///     `AWD_X_FILE` names a file (relative to the working directory) whose content, without the
  ///     newline at its end, is the value of `AWD_X`.
  /// - Throws: the one problem that keeps the file from being read, with its place.
  package static func load(
    file: String?, environment: [String: String]
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
    return try ConfigurationDocument(parsing: bytes, file: file, environment: environment)
  }

  /// Reads a configuration from the bytes of a file, as ``load(file:environment:)``.
  package init(
    parsing bytes: [UInt8], file: String?, environment: [String: String] = [:]
  ) throws(ConfigurationError) {
    do throws(TOMLError) {
      root = try TOMLNode.table(parsing: bytes)
    } catch {
      let origin = ConfigurationOrigin.file(
        file ?? "", line: error.place.line, column: error.place.column)
      throw ConfigurationError(
        problems: [ConfigurationProblem(origin: origin, key: "", message: error.message)])
    }
    self.file = file
    var problems: [ConfigurationProblem] = []
    variables = Self.variables(environment, problems: &problems)
    self.problems = problems
    if let file, let slash = file.lastIndex(of: "/") {
      folder = String(file[...slash])
    } else {
      folder = ""
    }
    defaultDataFolder =
      file == nil ? Self.stateFolder(environment: environment) : (folder + "var").normalizedPath
  }

  /// Returns the folder for data if nothing is configured: `awd` in `XDG_STATE_HOME` if that is an absolute path (XDG
  /// Base Directory Specification), else `~/.local/state/awd`.
  ///
  /// - Parameter environment: all environment variables.
  /// - Returns: the folder, or nil without a home.
  package static func stateFolder(environment: [String: String]) -> String? {
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
        } catch { problem = "cannot read \(value): \(error.message)" }
        variables[plainName] = Variable(name: name, text: text)
      }
      if let problem {
        problems.append(ConfigurationProblem(origin: .environment(name), key: "", message: problem))
      }
    }
    return variables
  }

  /// Returns a file's text without the newline at its end, or nil if it isn't UTF-8.
  private static func textOfFile(_ bytes: [UInt8]) -> String? {
    var bytes = bytes[...]
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Returns the document with some keys and tables under new names, in the file and among the variables.
  ///
  /// One that stands there under both names is a problem that names both places.
  ///
  /// - Parameter names: the new names by the former ones, each a table and a key in it.
  package func renaming(_ names: [String: String]) -> ConfigurationDocument {
    var document = self
    for (former, new) in names.sorted(by: { $0.key < $1.key }) {
      document.renameKey(former, new)
      document.renameVariables(former, new)
    }
    return document
  }

  private mutating func renameKey(_ former: String, _ new: String) {
    let (from, to) = (former.split(separator: "."), new.split(separator: "."))
    let (section, target) = (root[String(from[0])], root[String(to[0])])
    guard let section, case .table(var old) = section.value,
      let node = old.removeValue(forKey: String(from[1]))
    else { return }
    root[String(from[0])] = section.holding(old)
    var table: [String: TOMLNode] = [:]
    if let target {
      guard case .table(let inner) = target.value else { return }
      table = inner
    }
    if let other = table.updateValue(node, forKey: String(to[1])) {
      let message = "is the former name of \(new), which \(origin(other.keyPlace)) has too"
      problems.append(
        ConfigurationProblem(origin: origin(node.keyPlace), key: former, message: message))
    }
    root[String(to[0])] = (target ?? node).holding(table)
  }

  private mutating func renameVariables(_ former: String, _ new: String) {
    let (start, replacement) = (Self.variable(former), Self.variable(new))
    for (name, variable) in variables where name == start || name.hasPrefix(start + "_") {
      variables[name] = nil
      let newName = replacement + name.dropFirst(start.count)
      if let other = variables.updateValue(variable, forKey: newName) {
        let message = "is the former name of \(other.name), which is set too"
        problems.append(
          ConfigurationProblem(origin: .environment(variable.name), key: former, message: message))
      }
    }
  }

  private static func variable(_ key: String) -> String {
    variablePrefix + key.replacing(".", with: "_").uppercased()
  }

  /// Returns the origin of something at a place in the file.
  func origin(_ place: TOMLNode.Place) -> ConfigurationOrigin {
    .file(file ?? "", line: place.line, column: place.column)
  }
}
