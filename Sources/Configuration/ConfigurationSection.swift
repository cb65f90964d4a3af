/// A table of the configuration, whose keys are read one by one, each with its default.
///
/// Reading never fails: a problem is recorded for ``finish()``, and the default is returned.
package struct ConfigurationSection: Sendable {
  let reader: ConfigurationReader
  /// The section's full name: `msgr.apns`, or `tokenscript.clients[0]`.
  package let name: String
  let table: [String: TOMLNode]
  /// The start of the variables that override keys, or nil in an array of tables, where none can.
  var variablePrefix: String? = ConfigurationDocument.variablePrefix
  var depth = 0
  /// False for a section of a service that is switched off, which is read for what it says of files and the store.
  package var isServed = true

  /// Returns the full name of a key of this section.
  func key(_ name: String) -> String {
    self.name.isEmpty ? name.asKey : "\(self.name).\(name.asKey)"
  }

  /// Returns the variable that overrides a key of this section.
  func variable(_ name: String) -> String? { variablePrefix.map { $0 + name.uppercased() } }

  /// Returns whether a problem concerns something in this section.
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

  /// The folder of everything that the daemon keeps, for defaults of paths.
  package var dataFolder: String { reader.dataFolder }

  /// The server's URL as seen from outside, for defaults of URLs, or nil if none is given.
  package var publicURL: PublicURL? {
    beside("server").optionalValue(
      "public_url", expected: #"a URL such as "https://wallet.example""#, parse: { PublicURL($0) })
  }

  /// The names of all keys that the file gives in this section, in order.
  package var names: [String] { table.keys.sorted() }

  /// Returns whether the file gives a table for a key.
  package func isTable(_ name: String) -> Bool {
    if case .table? = table[name]?.value { return true }
    return false
  }

  /// Returns a section that several others go by. It may be read more than once.
  package func beside(_ name: String) -> ConfigurationSection { reader.section(name) }

  /// Returns the section of the given name that is nested in this one. It may be an inline table.
  ///
  /// If a key of this section and one of the nested section have the same environment variable, it is for the latter.
  /// Then the nested section must be read first.
  package func section(_ name: String) -> ConfigurationSection {
    let key = key(name)
    let isFirst = reader.open(key, name: name, in: self.name)
    var inner: [String: TOMLNode] = [:]
    if let node = table[name] {
      if case .table(let table) = node.value {
        inner = table
      } else if isFirst {
        let written = WrittenValue(value: node.value, origin: reader.origin(node.place))
        record(written.mismatch("a table"), key)
      }
    }
    return ConfigurationSection(
      reader: reader, name: key, table: inner, variablePrefix: variable(name).map { $0 + "_" },
      depth: depth + 1)
  }

  /// Returns the tables of an array of tables, `[[name]]`, or none if nothing is given. No variable can override it.
  package func tables(_ name: String) -> [ConfigurationSection] {
    let key = key(name)
    let (written, isFirst) = reader.claim(name, in: self)
    guard let written else { return [] }
    var sections: [ConfigurationSection] = []
    do throws(Mismatch) {
      guard !written.isText else {
        throw written.hidden.mismatch("an array of tables, which only the file can give")
      }
      for (index, element) in try written.list("an array of tables").enumerated() {
        let elementKey = "\(key)[\(index)]"
        _ = reader.open(elementKey, name: name, in: self.name)
        guard case .table(let table) = element.value else {
          if isFirst { record(element.mismatch("a table"), key) }
          continue
        }
        sections.append(
          ConfigurationSection(
            reader: reader, name: elementKey, table: table, variablePrefix: nil, depth: depth + 1))
      }
    } catch { if isFirst { record(error, key) } }
    return sections
  }

  /// Returns whether a key that was read before has its value from the file or the environment, not from the default.
  package func isGiven(_ name: String) -> Bool {
    reader.setting(key(name)).map { $0.origin != .default } ?? false
  }

  /// Records that a key's value, though of the right type, can't be used.
  ///
  /// - Parameters:
  ///   - name: the key.
  ///   - message: the expected value, shown behind the place and the key.
  package func reject(_ name: String, _ message: String) {
    let key = key(name)
    let origin = reader.setting(key)?.origin ?? .default
    reader.record(ConfigurationProblem(origin: origin, key: key, message: message))
  }

  /// Reports the problems of this section and the nested ones, including keys that were not read. Call it after the
  /// whole section is read.
  ///
  /// - Throws: ``ConfigurationError`` if there are problems.
  package func finish() throws(ConfigurationError) { try reader.finish(self) }

  /// Reads one key.
  ///
  /// - Parameters:
  ///   - text: writes a value in TOML.
  ///   - parse: makes a value of the written one.
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
        value = try parse(isSecret ? written.hidden : written)
        origin = written.origin
      } catch { if isFirst { record(error, key) } }
    }
    if isFirst {
      let isHidden = (isSecret || written?.isHidden == true) && text(value) != "\"\""
      reader.add(
        ConfigurationSetting(
          key: key, value: isHidden ? ConfigurationSetting.hidden : text(value), origin: origin))
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
