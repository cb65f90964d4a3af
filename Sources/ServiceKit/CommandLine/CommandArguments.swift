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
  /// - Parameters:
  ///   - words: the arguments behind the command's name.
  ///   - parameters: the command's parameters.
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
      try take(name, value, &rest, parameters)
    }
    try checkOperands(parameters)
  }

  /// Returns whether a flag was given.
  package func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// The value of an option, the last of several, or nil if it wasn't given.
  package subscript(option: String) -> String? { values[option]?.last }

  /// Returns every value of an option that may be given more than once, in order.
  package func all(_ option: String) -> [String] { values[option] ?? [] }

  private mutating func take(
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
