internal import Platform

/// Interprets a document: its users ask for the keys that they know, and all other keys are wrong.
///
/// Asking never fails. A problem is recorded and the default returned, so that ``finish(ignoring:)`` can report all
/// problems together. Asking is also the only declaration of a key, so ``settings`` lists all that exist.
package final class ConfigurationReader: Sendable {
  /// The number of problems that are kept. A file may have as many as it has bytes.
  static let problemLimit = 100

  private struct State {
    var settings: [ConfigurationSetting] = []
    var problems: [ConfigurationProblem] = []
    var dataFolder = ""
    /// The full keys that were asked for.
    var keys: Set<String> = []
    /// The full names of the sections that were opened, including elements of arrays of tables.
    var sections: Set<String> = []
    /// The names that were asked for in each section, for suggestions.
    var names: [String: Set<String>] = [:]
    /// What the variables begin with that are for tables whose keys are the operator's own, such as `AWD_CHAINS_`.
    var openPrefixes: Set<String> = []
    /// The key of each variable, and the depth of its section.
    var variables: [String: (key: String, depth: Int)] = [:]

    mutating func record(_ problem: ConfigurationProblem) {
      // A section that several others go by may be read again.
      if problems.count < problemLimit, !problems.contains(problem) { problems.append(problem) }
    }
  }

  private let document: ConfigurationDocument
  private let state: Lock<State>

  /// Makes a reader that has read `[server] data` and nothing else.
  package init(_ document: ConfigurationDocument) {
    self.document = document
    state = Lock(State(problems: document.problems))
    let server = section("server")
    let folder = server.path("data", default: document.defaultDataFolder ?? "")
    if folder.isEmpty {
      let reason = document.defaultDataFolder == nil ? "; without HOME there is no default" : ""
      server.reject("data", "expected the path of a folder\(reason)")
    }
    state.withLock { $0.dataFolder = folder }
  }

  /// The folder of everything that the daemon keeps: `[server] data`.
  package var dataFolder: String { state.withLock(\.dataFolder) }

  /// The folder that relative paths are relative to, with a slash at its end unless it is empty.
  var configurationFolder: String { document.folder }

  /// Returns the section of the given name: `server`, or a service's own.
  package func section(_ name: String) -> ConfigurationSection {
    ConfigurationSection(reader: self, name: "", table: document.root).section(name)
  }

  /// Every key that was asked for so far, in the order of asking.
  package var settings: [ConfigurationSetting] { state.withLock(\.settings) }

  /// Reports all problems, including keys of the file and variables of the environment that nobody asked for. Call it
  /// after all keys are read.
  ///
  /// - Parameter ignored: top-level sections that nobody reads and that aren't checked, such as those of services that
  ///   are switched off.
  /// - Throws: ``ConfigurationError`` if there are problems.
  package func finish(ignoring ignored: Set<String> = []) throws(ConfigurationError) {
    try report(ignoring: ignored) { _ in true }
  }

  /// Reports the problems of one section only, as ``finish(ignoring:)``.
  func finish(_ section: ConfigurationSection) throws(ConfigurationError) {
    try report(ignoring: [], where: section.concerns)
  }

  private func report(
    ignoring ignored: Set<String>, where isMeant: (ConfigurationProblem) -> Bool
  ) throws(ConfigurationError) {
    let all = state.withLock { state in
      state.problems + unreadKeys(state, ignoring: ignored)
        + unreadVariables(state, ignoring: ignored)
    }
    let problems = all.filter(isMeant)
    guard problems.isEmpty else {
      let sorted = problems.sorted { ConfigurationOrigin.precedes($0.origin, $1.origin) }
      throw ConfigurationError(problems: Array(sorted.prefix(Self.problemLimit)))
    }
  }
}

// MARK: - For sections

extension ConfigurationReader {
  func record(_ problem: ConfigurationProblem) { state.withLock { $0.record(problem) } }

  func add(_ setting: ConfigurationSetting) { state.withLock { $0.settings.append(setting) } }

  func setting(_ key: String) -> ConfigurationSetting? {
    state.withLock { state in state.settings.first { $0.key == key } }
  }

  /// Returns the keys that variables give to a table whose keys are the operator's own.
  func variableKeys(behind prefix: String) -> [String] {
    state.withLock { _ = $0.openPrefixes.insert(prefix) }
    return document.keys(behind: prefix)
  }

  func origin(_ place: TOMLNode.Place) -> ConfigurationOrigin { document.origin(place) }

  /// Records that a section is opened.
  ///
  /// - Returns: whether it was not opened before.
  func open(_ section: String, name: String, in parent: String) -> Bool {
    state.withLock { state in
      state.names[parent, default: []].insert(name)
      return state.sections.insert(section).inserted
    }
  }

  /// Records that a key is asked for.
  ///
  /// - Returns: the value of the environment variable or else of the file, and whether the key was not asked for before.
  func claim(
    _ name: String, in section: ConfigurationSection
  ) -> (written: WrittenValue?, isFirst: Bool) {
    state.withLock { state in
      let key = section.key(name)
      let isFirst = state.keys.insert(key).inserted
      state.names[section.name, default: []].insert(name)
      if let variable = section.variable(name), owns(variable, key, section.depth, &state),
        let override = document.variables[variable]
      {
        let written = override.text.map { text in
          WrittenValue(
            value: .string(text), origin: .environment(override.name), isText: true,
            isHidden: override.isFromFile)
        }
        return (written, isFirst)
      }
      let node = section.table[name]
      return (node.map { WrittenValue(value: $0.value, origin: origin($0.place)) }, isFirst)
    }
  }

  /// Returns whether a variable is for this key. Of two keys that are spelled alike, the one of the longer section name
  /// owns the variable. It must be asked for first: else both may have taken the value, and the variable is refused.
  private func owns(_ variable: String, _ key: String, _ depth: Int, _ state: inout State) -> Bool {
    let owner = state.variables[variable]
    if let owner, owner.key != key, owner.depth >= depth { return false }
    if let owner, owner.key != key, let override = document.variables[variable] {
      let message = "means both \(owner.key) and \(key)"
      state.record(
        ConfigurationProblem(origin: .environment(override.name), key: "", message: message))
    }
    state.variables[variable] = (key, depth)
    return true
  }
}

// MARK: - Unread keys

extension ConfigurationReader {
  private func unreadKeys(_ state: State, ignoring ignored: Set<String>) -> [ConfigurationProblem] {
    let table = document.root.filter {
      !ignored.contains($0.key) || state.sections.contains($0.key)
    }
    var problems: [ConfigurationProblem] = []
    collectUnread(in: table, of: "", state, &problems)
    return problems
  }

  private func collectUnread(
    in table: [String: TOMLNode], of section: String, _ state: State,
    _ problems: inout [ConfigurationProblem]
  ) {
    for (name, node) in table.sorted(by: { $0.value.keyPlace < $1.value.keyPlace }) {
      guard problems.count < Self.problemLimit else { return }
      let key = section.isEmpty ? name.asKey : "\(section).\(name.asKey)"
      switch node.value {
      case .table(let inner) where state.sections.contains(key):
        collectUnread(in: inner, of: key, state, &problems)
      case .array(let elements) where state.keys.contains(key):
        for (index, element) in elements.enumerated() {
          let elementKey = "\(key)[\(index)]"
          if case .table(let inner) = element.value, state.sections.contains(elementKey) {
            collectUnread(in: inner, of: elementKey, state, &problems)
          }
        }
      default:
        if state.keys.contains(key) || state.sections.contains(key) { continue }
        problems.append(
          ConfigurationProblem(
            origin: origin(node.keyPlace), key: key.shortened,
            message: "unknown key" + Self.hint(for: name, in: section, state)))
      }
    }
  }

  /// Says what somebody may have meant by an unknown key: one of another section, as a key belongs to the header above it,
  /// or one of a similar name.
  private static func hint(for name: String, in section: String, _ state: State) -> String {
    // Elements of a list of tables have no header of their own.
    let homes = state.names
      .filter { !$0.key.isEmpty && !$0.key.contains("[") && $0.value.contains(name) }
      .keys.sorted()
    if !homes.isEmpty {
      return "; it belongs below " + homes.map { "[\($0)]" }.joined(separator: " or ")
    }
    let suggestion = Suggestion.close(to: name, among: state.names[section] ?? [])
    return suggestion.map { ", did you mean `\($0)`?" } ?? ""
  }

  private func unreadVariables(
    _ state: State, ignoring ignored: Set<String>
  ) -> [ConfigurationProblem] {
    let ignoredPrefixes = ignored.filter { !state.sections.contains($0) }
      .map { ConfigurationDocument.variablePrefix + $0.uppercased() + "_" }
    return document.variables
      .filter { state.variables[$0.key] == nil && isOfKnownSection($0.key, state) }
      .filter { variable in !ignoredPrefixes.contains { variable.key.hasPrefix($0) } }
      .sorted { $0.key < $1.key }.prefix(Self.problemLimit)
      .map { name, variable in
        ConfigurationProblem(
          origin: .environment(variable.name), key: "", message: Self.problem(with: name, state))
      }
  }

  private static func problem(with variable: String, _ state: State) -> String {
    if topSections(state).contains(where: { Self.variable(ofSection: $0) == variable }) {
      return "a table has no variable of its own: set its keys one by one, such as "
        + "AWD_SERVER_LISTEN, or AWD_CHAINS__1 for the key 1 of [chains]"
    }
    if let prefix = state.openPrefixes.first(where: variable.hasPrefix) {
      let key = variable.dropFirst(prefix.count)
      return "is for no known key; a key of the operator's own stands behind two underscores: "
        + "\(prefix)_\(key)"
    }
    let close = Suggestion.close(to: variable, among: state.variables.keys)
    return "is for no known key" + (close.map { ", did you mean \($0)?" } ?? "")
  }

  private static func topSections(_ state: State) -> [String] {
    state.sections.filter { !$0.contains(where: { $0 == "." || $0 == "[" }) }
  }

  private static func variable(ofSection section: String) -> String {
    ConfigurationDocument.variablePrefix + section.uppercased()
  }

  /// Whether a variable's second word names a section that was read, so that the variable is meant for this program.
  private func isOfKnownSection(_ variable: String, _ state: State) -> Bool {
    Self.topSections(state).contains { section in
      let name = Self.variable(ofSection: section)
      return variable == name || variable.hasPrefix(name + "_")
    }
  }

  /// Finds mistyped names among the variables that are ignored, as they begin like this program's and name no section.
  ///
  /// Container platforms set such variables for a service that is called like the program (`AWD_SERVICE_HOST`,
  /// `AWD_PORT_8080_TCP`), so only a name that is nearly a key's is worth a doubt.
  ///
  /// - Returns: the variables, each with the one that it may have been meant to be.
  package var doubtfulVariables: [(name: String, meant: String)] {
    state.withLock { state in
      document.variables.keys.sorted().compactMap { name in
        guard state.variables[name] == nil, !isOfKnownSection(name, state),
          let nearest = Suggestion.nearest(to: name, among: state.variables.keys),
          nearest.edits <= 2
        else { return nil }
        return (name, nearest.name)
      }
    }
  }

}

/// The value of a key in the file or in a variable, before its type is known.
struct WrittenValue {
  let value: TOMLNode.Value
  let origin: ConfigurationOrigin
  /// True if the value is text that may stand for any type, as in the environment.
  var isText = false
  /// True if the value may be a secret that must not be shown.
  var isHidden = false
  /// The place in an array, such as `[1]` for the second value, or empty for a whole value.
  var index = ""

  /// The same value, as one that must not be shown.
  var hidden: WrittenValue {
    var hidden = self
    hidden.isHidden = true
    return hidden
  }

  /// Describes the value for an error: a long one is cut, and one that may be secret is not shown.
  private var found: String {
    switch value {
    case .table: "a table"
    case .array: "an array"
    case .date: "a date"
    case _ where isHidden: "something else"
    case .string(let text) where Self.mayHoldPassword(text):
      "a URL with an @, which isn't shown as a password may be before it"
    case .string(let text): text.shortened.quoted
    case .integer(let number): String(number)
    case .float(let number): String(number)
    case .boolean(let truth): String(truth)
    }
  }

  /// Returns whether a text is a URL that names a user, often with a password.
  private static func mayHoldPassword(_ text: String) -> Bool {
    guard let scheme = text.firstRange(of: "://") else { return false }
    return text[scheme.upperBound...].contains("@")
  }

  /// Makes the refusal of this value.
  func mismatch(_ expected: String, hint: String = "") -> Mismatch {
    Mismatch(complaints: [
      Mismatch.Complaint(
        origin: origin, index: index,
        message: "expected \(expected), found \(found)\(hint)")
    ])
  }

  /// Returns the text of a string. NUL is refused, as it ends a string for the system's functions.
  func string(_ expected: String) throws(Mismatch) -> String {
    guard case .string(let text) = value else { throw mismatch(expected) }
    guard !text.utf8.contains(0) else { throw mismatch("\(expected) without NUL") }
    return text
  }

  /// Returns what a string means.
  func string<Value>(_ expected: String, as parse: (String) -> Value?) throws(Mismatch) -> Value {
    guard let value = parse(try string(expected)) else { throw mismatch(expected) }
    return value
  }

  /// Returns a whole number in a range.
  func integer(in range: ClosedRange<Int>) throws(Mismatch) -> Int {
    let number: Int? =
      switch value {
      case .integer(let number): number
      case .string(let text) where isText: Int(text)
      default: nil
      }
    guard let number, range.contains(number) else {
      throw mismatch("an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns the one of some choices that a string names.
  func choice<Choice>(
    of choices: [Choice], named name: (Choice) -> String
  ) throws(Mismatch) -> Choice {
    let names = choices.map(name)
    let expected = "one of " + names.map(\.quoted).joined(separator: ", ")
    let text = try string(expected)
    guard let choice = choices.first(where: { name($0) == text }) else {
      let hint = Suggestion.close(to: text, among: names).map { ", did you mean \($0.quoted)?" }
      throw mismatch(expected, hint: hint ?? "")
    }
    return choice
  }

  /// Returns a value that lies in this one in the file.
  func part(_ node: TOMLNode, index: String) -> WrittenValue {
    WrittenValue(value: node.value, origin: origin.moved(to: node.place), index: index)
  }

  /// Returns the values of an array, or of a text: an array in TOML, or values with commas between them. Spaces around the
  /// commas are ignored, and an empty text is the empty list.
  func list(_ expected: String) throws(Mismatch) -> [WrittenValue] {
    if case .array(let nodes) = value {
      return nodes.enumerated().map { part($1, index: "[\($0)]") }
    }
    guard isText, case .string(let text) = value else { throw mismatch(expected) }
    if let nodes = Self.array(text) {
      return nodes.enumerated().map {
        WrittenValue(value: $1.value, origin: origin, isHidden: isHidden, index: "[\($0)]")
      }
    }
    guard text.contains(where: { $0 != " " }) else { return [] }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    return parts.enumerated().map { index, part in
      WrittenValue(
        value: .string(String(part.trimmed)), origin: origin, isText: true, isHidden: isHidden,
        index: "[\(index)]")
    }
  }

  /// Returns the values of a text that is an array in TOML. An address such as `[::1]:8080` is none.
  private static func array(_ text: String) -> [TOMLNode]? {
    guard text.trimmed.hasPrefix("["), !text.contains("\n"),
      let table = try? TOMLNode.table(parsing: Array("list = \(text)".utf8)),
      case .array(let nodes) = table["list"]?.value
    else { return nil }
    return nodes
  }
}

/// The refusal of a written value. For a list, it names every wrong element.
struct Mismatch: Error {
  struct Complaint {
    let origin: ConfigurationOrigin
    let index: String
    let message: String
  }

  var complaints: [Complaint]

  /// Reads all parts of a value, and refuses together those that are wrong.
  static func collect<Part>(
    _ parts: some Sequence<Part>, _ read: (Part) throws(Mismatch) -> Void
  ) throws(Mismatch) {
    var mismatch = Mismatch(complaints: [])
    for part in parts {
      do throws(Mismatch) { try read(part) } catch { mismatch.complaints += error.complaints }
    }
    guard mismatch.complaints.isEmpty else { throw mismatch }
  }
}

extension StringProtocol where SubSequence == Substring {
  /// The text without the spaces at both ends.
  var trimmed: Substring {
    var text = drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return text
  }
}
