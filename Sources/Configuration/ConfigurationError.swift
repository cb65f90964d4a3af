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

  /// The problems, one per line.
  package var description: String { problems.map(\.description).joined(separator: "\n") }
}
