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

  /// `[server] users_per_address`: how many users one address stands for, as in an office or behind a carrier's translation.
  /// Limits by address are multiplied by it.
  package var usersPerAddress: Int {
    beside("server").integer("users_per_address", default: 1, in: 1...100_000)
  }

  /// Multiplies a limit by address by the users whom one address stands for; a product that is too large is the largest number.
  package func multipliedByUsers(_ limit: Int) -> Int {
    let (product, isTooLarge) = limit.multipliedReportingOverflow(by: usersPerAddress)
    return isTooLarge ? .max : product
  }

  /// Returns what one site may have of something: a tenth of all, or more if its addresses stand for several users. Others always
  /// have half.
  package func share(of all: Int) -> Int {
    min(multipliedByUsers(all / 10), all / 2)
  }

  /// The names of all keys that the file or variables such as `AWD_CHAINS__1` give in this section, in order.
  package var names: [String] {
    let others = variablePrefix.map(reader.variableKeys) ?? []
    return Set(table.keys).union(others).sorted()
  }

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
        // A table in an array of tables has no header of its own.
        let hint = key.contains("[") ? "" : "; write [\(key)], and its keys below it"
        record(written.mismatch("a table", hint: hint), key)
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
  /// - Parameter text: writes a value in TOML.
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

extension ConfigurationSection {
  /// Reads a string.
  package func string(_ name: String, default fallback: String) -> String {
    read(name, default: fallback, text: \.quoted) { written throws(Mismatch) in
      try written.string("a string")
    }
  }

  /// Reads text that is never shown, which is empty by default.
  package func secret(_ name: String) -> Secret { secret(name, expected: "a string") { _ in true } }

  /// Reads text that is never shown, and is empty where it isn't as expected.
  package func secret(
    _ name: String, expected: String, where isExpected: (String) -> Bool
  ) -> Secret {
    read(name, default: Secret(""), isSecret: true, text: \.value.quoted) {
      written throws(Mismatch) in
      Secret(try written.string(expected) { isExpected($0) ? $0 : nil })
    }
  }

  /// Reads true or false.
  package func bool(_ name: String, default fallback: Bool) -> Bool {
    read(name, default: fallback, text: \.description) { written throws(Mismatch) in
      switch written.value {
      case .boolean(let truth): return truth
      case .string("true") where written.isText: return true
      case .string("false") where written.isText: return false
      default: throw written.mismatch("true or false")
      }
    }
  }

  /// Reads a whole number in a range.
  package func integer(_ name: String, default fallback: Int, in range: ClosedRange<Int>) -> Int {
    read(name, default: fallback, text: \.description) { written throws(Mismatch) in
      try written.integer(in: range)
    }
  }

  /// Reads a list of whole numbers in a range, which are separated by commas in a variable.
  package func integers(
    _ name: String, default fallback: [Int], in range: ClosedRange<Int>
  ) -> [Int] {
    list(name, default: fallback, of: "integers", text: \.description) {
      written throws(Mismatch) in
      try written.integer(in: range)
    }
  }

  /// Reads a duration: a whole number with one of the units ms, s, m, h, d.
  ///
  /// - Parameters:
  ///   - fallback: the default.
  ///   - range: the allowed durations, by default up to ten years.
  package func duration(
    _ name: String, default fallback: Duration,
    in range: ClosedRange<Duration> = .zero ... .seconds(315_360_000)
  ) -> Duration {
    quantity(
      name, default: fallback, in: range, example: "a duration in ms, s, m, h or d such as \"30s\"",
      kind: "a duration", parse: TimeSpan.parse, text: TimeSpan.text)
  }

  /// Reads a size in bytes: a whole number with one of the units B, KiB, MiB, GiB, TiB.
  ///
  /// - Parameters:
  ///   - fallback: the default, in bytes.
  ///   - range: the allowed sizes, in bytes.
  package func size(
    _ name: String, default fallback: Int, in range: ClosedRange<Int> = 0...(1 << 50)
  ) -> Int {
    quantity(
      name, default: fallback, in: range,
      example: "a size in B, KiB, MiB, GiB or TiB such as \"64KiB\"", kind: "a size",
      parse: ByteSize.parse, text: ByteSize.text)
  }

  /// Reads a whole number in a range into a variable, whose value is the default.
  package func integer(_ name: String, _ value: inout Int, in range: ClosedRange<Int>) {
    value = integer(name, default: value, in: range)
  }

  /// Reads a duration in a range into a variable, whose value is the default.
  package func duration(_ name: String, _ value: inout Duration, in range: ClosedRange<Duration>) {
    value = duration(name, default: value, in: range)
  }

  /// Reads a size in bytes in a range into a variable, whose value is the default.
  package func size(_ name: String, _ value: inout Int, in range: ClosedRange<Int>) {
    value = size(name, default: value, in: range)
  }

  private func quantity<Value: Comparable>(
    _ name: String, default fallback: Value, in range: ClosedRange<Value>, example: String,
    kind: String, parse: (String) -> Value?, text: (Value) -> String
  ) -> Value {
    read(name, default: fallback, text: { text($0).quoted }) { written throws(Mismatch) in
      let value = try written.string(example, as: parse)
      guard range.contains(value) else {
        let bounds = "from \(text(range.lowerBound).quoted) to \(text(range.upperBound).quoted)"
        throw written.mismatch("\(kind) \(bounds)")
      }
      return value
    }
  }

  /// Reads one of an enumeration's raw values.
  package func choice<Choice>(_ name: String, default fallback: Choice) -> Choice
  where Choice: CaseIterable & RawRepresentable, Choice.RawValue == String {
    read(name, default: fallback, text: \.rawValue.quoted) { written throws(Mismatch) in
      try written.choice(of: Array(Choice.allCases), named: \.rawValue)
    }
  }

  /// Reads the path of a file or folder. An empty one stays empty, and a relative one is put behind the base. The default
  /// is taken as it is.
  package func path(
    _ name: String, default fallback: String, relativeTo base: PathBase = .configuration
  ) -> String {
    read(name, default: fallback, text: \.quoted) { written throws(Mismatch) in
      resolve(try written.string("a path"), relativeTo: base)
    }
  }

  /// Returns a path as it is to be opened.
  func resolve(_ path: String, relativeTo base: PathBase) -> String {
    if path.isEmpty || path.hasPrefix("/") { return path.normalizedPath }
    return switch base {
    case .configuration: (reader.configurationFolder + path).normalizedPath
    case .data: "\(reader.dataFolder)/\(path)".normalizedPath
    }
  }

  /// Reads a string of a certain form.
  ///
  /// - Parameters:
  ///   - fallback: the default.
  ///   - expected: the form in words that follow "expected", such as `a network such as "10.0.0.0/8"`.
  ///   - parse: makes the value of a string, or nil if it hasn't the form.
  package func value<Value: CustomStringConvertible>(
    _ name: String, default fallback: Value, expected: String, parse: (String) -> Value?
  ) -> Value {
    read(name, default: fallback, text: \.description.quoted) { written throws(Mismatch) in
      try written.string(expected, as: parse)
    }
  }

  /// Reads a string of a certain form, or nil for an empty string, which is the default.
  package func optionalValue<Value: CustomStringConvertible>(
    _ name: String, expected: String, parse: (String) -> Value?
  ) -> Value? {
    read(name, default: nil, text: { ($0?.description ?? "").quoted }) {
      written throws(Mismatch) in
      try written.string(expected).isEmpty ? nil : try written.string(expected, as: parse)
    }
  }

  /// Reads a list of strings of a certain form, which are separated by commas in a variable.
  ///
  /// - Parameters:
  ///   - fallback: the default.
  ///   - expected: the form of one string in words that follow "expected".
  ///   - parse: makes the value of one string, or nil if it hasn't the form.
  package func values<Value: CustomStringConvertible>(
    _ name: String, default fallback: [Value], expected: String, parse: (String) -> Value?
  ) -> [Value] {
    list(name, default: fallback, text: \.description.quoted) { written throws(Mismatch) in
      try written.string(expected, as: parse)
    }
  }

  /// Reads a list of some of the given names, none of them twice, which are separated by commas in a variable.
  package func names(_ name: String, default fallback: [String], among known: [String]) -> [String]
  {
    var seen: Set<String> = []
    return list(name, default: fallback, text: \.quoted) { written throws(Mismatch) in
      let text = try written.choice(of: known, named: \.self)
      guard seen.insert(text).inserted else { throw written.mismatch("each name once") }
      return text
    }
  }

  private func list<Value>(
    _ name: String, default fallback: [Value], of elements: String = "strings",
    text: (Value) -> String, element: (WrittenValue) throws(Mismatch) -> Value
  ) -> [Value] {
    read(
      name, default: fallback,
      text: { "[" + $0.map(text).joined(separator: ", ") + "]" }
    ) { written throws(Mismatch) in
      var values: [Value] = []
      try Mismatch.collect(written.list("a list of \(elements)")) { part throws(Mismatch) in
        values.append(try element(part))
      }
      return values
    }
  }

  /// Reads a table of strings with any keys. In a variable, it is `key=value` pairs separated by commas.
  package func dictionary(_ name: String) -> [String: String] {
    let expected = "a table of strings"
    return read(
      name, default: [:],
      text: { table in
        let pairs = table.sorted { $0.key < $1.key }
        return pairs.isEmpty
          ? "{}"
          : "{ " + pairs.map { "\($0.key.asKey) = \($0.value.quoted)" }.joined(separator: ", ")
            + " }"
      }
    ) { written throws(Mismatch) in
      var table: [String: String] = [:]
      if case .table(let nodes) = written.value {
        try Mismatch.collect(nodes) { entry throws(Mismatch) in
          let part = written.part(entry.value, index: ".\(entry.key.shortened.asKey)")
          table[entry.key] = try part.string("a string")
        }
        return table
      }
      guard written.isText else { throw written.mismatch(expected) }
      try Mismatch.collect(written.list(expected)) { part throws(Mismatch) in
        let pair = try part.string(expected).split(
          separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2, table[String(pair[0].trimmed)] == nil else {
          throw part.mismatch("key=value, each key once")
        }
        table[String(pair[0].trimmed)] = String(pair[1].trimmed)
      }
      return table
    }
  }
}

/// The folder that a relative path is relative to.
package enum PathBase: Sendable {
  /// The folder of the configuration file, or the working directory if there is none.
  case configuration
  /// The data folder, `[server] data`.
  case data
}
