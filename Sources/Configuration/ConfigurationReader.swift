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
        let suggestion = Suggestion.close(to: name, among: state.names[section] ?? [])
        let hint = suggestion.map { ", did you mean `\($0)`?" } ?? ""
        problems.append(
          ConfigurationProblem(
            origin: origin(node.keyPlace), key: key.shortened, message: "unknown key" + hint))
      }
    }
  }

  private func unreadVariables(
    _ state: State, ignoring ignored: Set<String>
  ) -> [ConfigurationProblem] {
    let ignoredPrefixes = ignored.filter { !state.sections.contains($0) }
      .map { ConfigurationDocument.variablePrefix + $0.uppercased() + "_" }
    return document.variables.filter { state.variables[$0.key] == nil }
      .filter { variable in !ignoredPrefixes.contains { variable.key.hasPrefix($0) } }
      .sorted { $0.key < $1.key }.prefix(Self.problemLimit)
      .map { name, variable in
        let nearest = Suggestion.nearest(to: name, among: state.variables.keys)
        let hint = nearest.map { ", did you mean \($0.name)?" } ?? ""
        return ConfigurationProblem(
          origin: .environment(variable.name), key: "", message: "is for no known key" + hint)
      }
  }
}
