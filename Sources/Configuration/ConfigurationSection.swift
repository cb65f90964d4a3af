/// A table of the configuration, from which its keys are read; each with the default that holds
/// where nothing is written, and each named here only.
///
/// Reading never fails: what is wrong is recorded for `finish`, and the default is answered.
public struct ConfigurationSection: Sendable {
  let reader: ConfigurationReader
  /// The section's name in full: `msgr.apns`, or `tokenscript.clients[0]`.
  public let name: String
  let table: [String: TOMLNode]
  /// The start of the variables that override its keys; nil if none can: in an array of tables.
  private let variablePrefix: String?
  let depth: Int

  /// The root.
  init(reader: ConfigurationReader, name: String, table: [String: TOMLNode]) {
    self.reader = reader
    self.name = name
    self.table = table
    variablePrefix = ConfigurationDocument.variablePrefix
    depth = 0
  }

  private init(
    of parent: ConfigurationSection, name: String, table: [String: TOMLNode],
    variablePrefix: String?
  ) {
    reader = parent.reader
    self.name = name
    self.table = table
    self.variablePrefix = variablePrefix
    depth = parent.depth + 1
  }

  /// A key of this section in full.
  func key(_ name: String) -> String {
    self.name.isEmpty ? name.asKey : "\(self.name).\(name.asKey)"
  }

  /// The variable that overrides a key of this section.
  func variable(_ name: String) -> String? {
    variablePrefix.map { $0 + name.uppercased() }
  }

  /// Whether the problem is with something in this section.
  func concerns(_ problem: ConfigurationProblem) -> Bool {
    if problem.key.hasPrefix(name) {
      let rest = problem.key.dropFirst(name.count)
      return rest.isEmpty || rest.hasPrefix(".") || rest.hasPrefix("[")
    }
    guard problem.key.isEmpty, case .environment(let variable) = problem.origin,
      let variablePrefix
    else { return false }
    return variable.hasPrefix(variablePrefix)
  }

  /// The folder of all that the daemon keeps, for defaults of paths.
  public var dataFolder: String { reader.dataFolder }

  /// The section nested in this one under the given name, an inline table as well.
  ///
  /// Where a key of this section and one of the nested section have the same environment variable,
  /// it is for the latter; then the nested section must be read first.
  public func section(_ name: String) -> ConfigurationSection {
    let key = key(name)
    let isFirst = reader.open(key, name: name, in: self.name)
    var inner: [String: TOMLNode] = [:]
    if let node = table[name] {
      if case .table(let table) = node.value {
        inner = table
      } else if isFirst {
        record(WrittenValue(node, at: reader.origin(node.place)).mismatch("a table"), key)
      }
    }
    return ConfigurationSection(
      of: self, name: key, table: inner, variablePrefix: variable(name).map { $0 + "_" })
  }

  /// The tables of an array of tables, `[[name]]`; none if nothing is written. No variable can
  /// override it.
  public func tables(_ name: String) -> [ConfigurationSection] {
    let key = key(name)
    let (written, isFirst) = reader.claim(name, in: self)
    guard let written else { return [] }
    var sections: [ConfigurationSection] = []
    do throws(Mismatch) {
      guard !written.isText else {
        throw written.mismatch("an array of tables, which only the file can give", hidden: true)
      }
      for (index, element) in try written.list("an array of tables").enumerated() {
        let elementKey = "\(key)[\(index)]"
        _ = reader.open(elementKey, name: name, in: self.name)
        guard case .table(let table) = element.value else {
          if isFirst { record(element.mismatch("a table"), key) }
          continue
        }
        sections.append(
          ConfigurationSection(of: self, name: elementKey, table: table, variablePrefix: nil))
      }
    } catch {
      if isFirst { record(error, key) }
    }
    return sections
  }

  /// Whether a key that was read before has its value from the file or the environment, and not
  /// from a default.
  public func isGiven(_ name: String) -> Bool {
    reader.setting(key(name)).map { $0.origin != .default } ?? false
  }

  /// Records that a key's value, though of the right type, can't be used.
  ///
  /// - Parameter message: what was expected; it is shown behind the place and the key.
  public func reject(_ name: String, _ message: String) {
    let key = key(name)
    let origin = reader.setting(key)?.origin ?? .default
    reader.record(ConfigurationProblem(origin: origin, key: key, message: message))
  }

  /// Throws the problems of this section and those nested in it, the keys that were not read among
  /// them. To be called by whoever read the whole section and is about to use it.
  public func finish() throws(ConfigurationError) {
    try reader.finish(self)
  }

  /// Reads one key.
  ///
  /// - Parameters:
  ///   - text: a value as it is written in TOML.
  ///   - parse: the value of what is written.
  func read<Value>(
    _ name: String, default fallback: Value, isSecret: Bool = false, text: (Value) -> String,
    parse: (WrittenValue) throws(Mismatch) -> Value
  ) -> Value {
    let key = key(name)
    let (written, isFirst) = reader.claim(name, in: self)
    var value = fallback
    var origin = ConfigurationOrigin.default
    if let written {
      do throws(Mismatch) {
        value = try parse(written)
        origin = written.origin
      } catch {
        if isFirst { record(error, key) }
      }
    }
    if isFirst {
      let isHidden = (isSecret || written?.isHidden == true) && text(value) != "\"\""
      reader.add(
        ConfigurationSetting(key: key, value: isHidden ? "\"***\"" : text(value), origin: origin))
    }
    return value
  }

  private func record(_ mismatch: Mismatch, _ key: String) {
    for complaint in mismatch.complaints {
      reader.record(
        ConfigurationProblem(
          origin: complaint.origin, key: key + complaint.index, message: complaint.message))
    }
  }
}
