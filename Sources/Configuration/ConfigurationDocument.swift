internal import CTOML
internal import Glibc
internal import Platform

/// A configuration before its keys are interpreted: the tree of a TOML file with the place of each value, and the
/// environment variables that override values.
package struct ConfigurationDocument: Sendable {
  /// The start of every environment variable that is read.
  static let variablePrefix = "AWD_"
  /// The environment variable that names the configuration file, and is no key.
  package static let fileVariable = "AWD_CONFIG"
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
        let message = "the configuration file \(file) can't be read: \(error.message)"
        throw ConfigurationError(
          problems: [ConfigurationProblem(origin: .default, key: "", message: message)],
          isUnreadable: true)
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
  /// - Returns: the folder, or nil without a home.
  package static func stateFolder(environment: [String: String]) -> String? {
    if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/awd" }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
    return home + "/.local/state/awd"
  }

  /// The name that a variable has without what stands for a table's own key: `AWD_CHAINS__1` is the key `1` of `[chains]`,
  /// for which another key would have the variable `AWD_CHAINS_1`.
  private static func plainName(_ name: String) -> String {
    guard let mark = name.firstRange(of: "__") else { return name }
    return name[..<mark.lowerBound] + "_" + name[mark.upperBound...].uppercased()
  }

  /// Returns the keys that variables give to a table whose keys are the operator's own.
  ///
  /// - Parameter prefix: what the variables of the table's keys begin with, such as `AWD_CHAINS_`.
  func keys(behind prefix: String) -> [String] {
    let mark = prefix + "_"
    return variables.values.compactMap { variable in
      guard variable.name.hasPrefix(mark) else { return nil }
      let rest = variable.name.dropFirst(mark.count)
      return String(variable.isFromFile ? rest.dropLast(Self.fileSuffix.count) : rest)
    }
  }

  private static func variables(
    _ environment: [String: String], problems: inout [ConfigurationProblem]
  ) -> [String: Variable] {
    var variables: [String: Variable] = [:]
    for (name, value) in environment
    where name.hasPrefix(variablePrefix) && name != fileVariable {
      guard name.hasSuffix(fileSuffix), name.count > (variablePrefix + fileSuffix).count else {
        variables[Self.plainName(name)] = Variable(name: name, text: value)
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
        variables[Self.plainName(plainName)] = Variable(name: name, text: text)
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
    let from = former.split(separator: ".")
    let to = new.split(separator: ".")
    let section = root[String(from[0])]
    let target = root[String(to[0])]
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
    let start = Self.variable(former)
    let replacement = Self.variable(new)
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

/// The reason why a file couldn't be read, in the system's words.
package struct FileError: Error {
  /// The reason.
  package let message: String
}

/// Reads a file.
///
/// - Parameter limit: the largest allowed size in bytes.
/// - Returns: the content.
/// - Throws: ``FileError``.
package func contents(ofFile path: String, limit: Int) throws(FileError) -> [UInt8] {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw FileError(message: "\(SystemError(errno))") }
  defer { close(descriptor) }
  // Not copied while it grows, as it may be a secret.
  var bytes = [UInt8](repeating: 0, count: limit + 1)
  var count = 0
  while count < bytes.count {
    let taken = unsafe bytes[count...].withUnsafeMutableBytes { buffer in
      unsafe read(descriptor, buffer.baseAddress, buffer.count)
    }
    if taken < 0 && errno == EINTR { continue }
    guard taken >= 0 else { throw FileError(message: "\(SystemError(errno))") }
    if taken == 0 { break }
    count += taken
  }
  guard count <= limit else { throw FileError(message: "larger than \(ByteSize.text(limit))") }
  bytes.removeSubrange(count...)
  return bytes
}

/// A value of a TOML document with its place.
struct TOMLNode: Sendable {
  /// A line and a column, counted from 1. Columns count code points.
  struct Place: Sendable, Equatable, Comparable {
    let line: Int
    let column: Int

    static func < (left: Place, right: Place) -> Bool {
      (left.line, left.column) < (right.line, right.column)
    }
  }

  enum Value: Sendable {
    case table([String: TOMLNode])
    case array([TOMLNode])
    case string(String)
    case integer(Int)
    case float(Double)
    case boolean(Bool)
    case date
  }

  let value: Value
  let place: Place
  /// The place of the key, or of the value itself for the root and for elements of arrays.
  let keyPlace: Place

  /// Returns a table at the same place.
  func holding(_ table: [String: TOMLNode]) -> TOMLNode {
    TOMLNode(value: .table(table), place: place, keyPlace: keyPlace)
  }
}

/// The reason why a document is not TOML, with its place.
struct TOMLError: Error {
  let place: TOMLNode.Place
  let message: String
}

extension TOMLNode {
  /// The largest size of a document, in bytes.
  static let maximumSize = Int(CTOML_MAX_SIZE)

  /// Parses a document.
  ///
  /// - Returns: its top-level keys.
  /// - Throws: ``TOMLError``.
  static func table(parsing bytes: [UInt8]) throws(TOMLError) -> [String: TOMLNode] {
    let parsed = unsafe bytes.withUnsafeBytes { unsafe ctoml_parse($0.baseAddress, $0.count) }
    guard let document = unsafe parsed else {
      throw TOMLError(place: Place(line: 1, column: 1), message: "out of memory")
    }
    defer { unsafe ctoml_free(document) }
    if let message = unsafe document.pointee.error {
      throw unsafe TOMLError(
        place: Place(document.pointee.error_place), message: String(cString: message).singleLine)
    }
    let nodes = unsafe UnsafeBufferPointer(
      start: document.pointee.nodes, count: document.pointee.count)
    var index = 0
    // The root of a document is a table.
    guard case .table(let table) = unsafe try TOMLNode(nodes, at: &index).value else { return [:] }
    return table
  }

  /// Takes the value at an index with everything in it, and moves the index behind. The recursion is as deep as the
  /// document, which CTOML limits.
  private init(_ nodes: UnsafeBufferPointer<ctoml_node>, at index: inout Int) throws(TOMLError) {
    let node = unsafe nodes[index]
    index += 1
    place = unsafe Place(node.place)
    keyPlace = unsafe node.key == nil ? Place(node.place) : Place(node.key_place)
    switch unsafe node.kind {
    case CTOML_TABLE:
      var table: [String: TOMLNode] = [:]
      for _ in unsafe 0..<node.children {
        let key = unsafe String(nodes[index].key, nodes[index].key_size)
        let child = try unsafe TOMLNode(nodes, at: &index)
        // Two keys that toml++ tells apart by their bytes can be canonically equivalent.
        guard table.updateValue(child, forKey: key) == nil else {
          throw TOMLError(place: child.keyPlace, message: "duplicate key \(key.quoted)")
        }
      }
      value = .table(table)
    case CTOML_ARRAY:
      var array: [TOMLNode] = []
      for _ in unsafe 0..<node.children { array.append(try unsafe TOMLNode(nodes, at: &index)) }
      value = .array(array)
    case CTOML_STRING: value = .string(unsafe String(node.text, node.text_size))
    case CTOML_INTEGER: value = .integer(Int(unsafe node.integer))
    case CTOML_FLOAT: value = .float(unsafe node.real)
    case CTOML_BOOLEAN: value = .boolean(unsafe node.integer != 0)
    default: value = .date
    }
  }
}

extension TOMLNode.Place {
  fileprivate init(_ place: ctoml_place) {
    self.init(line: Int(place.line), column: Int(place.column))
  }
}

extension String {
  /// Makes a string of text without a terminator. Malformed UTF-8 is replaced.
  fileprivate init(_ start: UnsafePointer<CChar>?, _ count: Int) {
    self = unsafe String(
      decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }
}
