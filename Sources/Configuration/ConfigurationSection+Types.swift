extension ConfigurationSection {
  /// Reads a string.
  package func string(_ name: String, default fallback: String) -> String {
    read(name, default: fallback, text: \.quoted) { written throws(Mismatch) in
      try written.string("a string")
    }
  }

  /// Reads text that is never shown, which is empty by default.
  package func secret(_ name: String) -> Secret {
    read(name, default: Secret(""), isSecret: true, text: \.value.quoted) {
      written throws(Mismatch) in
      Secret(try written.string("a string"))
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
  ///   - name: the key.
  ///   - fallback: the default.
  ///   - range: the allowed durations, by default up to ten years.
  package func duration(
    _ name: String, default fallback: Duration,
    in range: ClosedRange<Duration> = .zero ... .seconds(315_360_000)
  ) -> Duration {
    quantity(
      name, default: fallback, in: range, example: "a duration such as \"30s\"",
      kind: "a duration", parse: TimeSpan.parse, text: TimeSpan.text)
  }

  /// Reads a size in bytes: a whole number with one of the units B, KiB, MiB, GiB, TiB.
  ///
  /// - Parameters:
  ///   - name: the key.
  ///   - fallback: the default, in bytes.
  ///   - range: the allowed sizes, in bytes.
  package func size(
    _ name: String, default fallback: Int, in range: ClosedRange<Int> = 0...(1 << 50)
  ) -> Int {
    quantity(
      name, default: fallback, in: range, example: "a size such as \"64KiB\"", kind: "a size",
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
  ///   - name: the key.
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
  ///   - name: the key.
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
  package func names(_ name: String, default fallback: [String], among known: [String]) -> [String] {
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
