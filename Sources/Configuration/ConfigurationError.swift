/// The origin of a value.
package enum ConfigurationOrigin: Sendable, Equatable, Encodable, CustomStringConvertible {
  /// The value is given nowhere.
  case `default`
  /// A place in the configuration file. Lines and columns count from 1, columns in code points.
  case file(String, line: Int, column: Int)
  /// An environment variable. The name ends in `_FILE` if the value was read from a file.
  case environment(String)

  /// `file:line:column`, the variable's name, or `default`.
  package var description: String {
    switch self {
    case .default: "default"
    case .file(let name, let line, let column): "\(name):\(line):\(column)"
    case .environment(let name): name
    }
  }

  /// Encodes the ``description``.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

/// A problem of the configuration.
package struct ConfigurationProblem: Sendable, Equatable, Encodable, CustomStringConvertible {
  /// The place of the wrong value, or `default` if it is given nowhere.
  package let origin: ConfigurationOrigin
  /// The full key, such as `server.limits.body`, or empty if the problem concerns no key.
  package let key: String
  /// The expected and the found value, or another description. It holds no secret.
  package let message: String

  /// The problem as `file:line:column: key: message`.
  package var description: String {
    let place = origin == .default ? "" : "\(origin): "
    return place + (key.isEmpty ? "" : "\(key): ") + message
  }
}

extension ConfigurationOrigin {
  /// Returns another place of the same file.
  func moved(to place: TOMLNode.Place) -> Self {
    guard case .file(let name, _, _) = self else { return self }
    return .file(name, line: place.line, column: place.column)
  }

  /// Orders places by line and column, then variables by name, then values that are given nowhere.
  static func precedes(_ left: Self, _ right: Self) -> Bool {
    switch (left, right) {
    case (.file(_, let line, let column), .file(_, let otherLine, let otherColumn)):
      (line, column) < (otherLine, otherColumn)
    case (.environment(let name), .environment(let otherName)): name < otherName
    case (.file, _), (.environment, .default): true
    default: false
    }
  }
}

/// All problems of the configuration.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
  /// The problems, at least one, in the order of the file.
  package let problems: [ConfigurationProblem]
  /// True if the file can't be read, so that nothing is known of what it holds.
  var isUnreadable = false

  /// The problems, one per line.
  package var description: String { problems.map(\.description).joined(separator: "\n") }

  /// The problems as the reason why a command ends.
  package var reason: String {
    isUnreadable ? description : "the configuration is not valid\n\(description)"
  }
}

/// A key with the value that is in effect.
package struct ConfigurationSetting: Sendable, Equatable, Encodable, CustomStringConvertible {
  /// The full key, such as `server.limits.body`.
  package let key: String
  /// The value as it would be written in TOML: `"***"` for a secret, `""` for none.
  package let value: String
  /// The origin of the value.
  package let origin: ConfigurationOrigin

  /// True if the value isn't shown.
  package var isSecret: Bool { value == Self.hidden }
  static let hidden = "\"***\""

  /// The setting as `key = value  # origin`.
  package var description: String { "\(key) = \(value)  # \(origin)" }
}

/// Finds the name that a mistyped one was meant to be.
package enum Suggestion {
  /// Longer names are not compared: the work grows with the square of their length.
  private static let longestName = 80

  /// Returns the candidate with the fewest edits from a name if these are few: at most one in three characters. Of two
  /// equal candidates it is the first in the alphabet.
  package static func close(to name: String, among candidates: some Sequence<String>) -> String? {
    let length = name.unicodeScalars.count
    guard let nearest = nearest(to: name, among: candidates), nearest.edits < length,
      nearest.edits <= max(1, length / 3)
    else { return nil }
    return nearest.name
  }

  /// Returns the candidate with the fewest edits from a name, however many. Upper and lower case are the same.
  static func nearest(
    to name: String, among candidates: some Sequence<String>
  ) -> (name: String, edits: Int)? {
    guard name.utf8.count <= longestName else { return nil }
    return candidates.filter { $0.utf8.count <= longestName }.sorted()
      .map { (name: $0, edits: edits(from: name.lowercased(), to: $0.lowercased())) }
      .min { $0.edits < $1.edits }
  }

  /// Returns the number of inserted, removed, replaced and swapped characters between two texts (optimal string
  /// alignment distance).
  static func edits(from: String, to: String) -> Int {
    let from = Array(from.unicodeScalars)
    let to = Array(to.unicodeScalars)
    var beforeLast: [Int] = []
    var last = Array(0...to.count)
    for row in from.indices {
      var current = [row + 1]
      for column in to.indices {
        var best = min(
          last[column] + (from[row] == to[column] ? 0 : 1), last[column + 1] + 1,
          current[column] + 1)
        if row > 0, column > 0, from[row] == to[column - 1], from[row - 1] == to[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[to.count]
  }
}
