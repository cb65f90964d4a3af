/// Where a value comes from.
public enum ConfigurationOrigin: Sendable, Equatable, CustomStringConvertible {
  /// It was given nowhere.
  case `default`
  /// A place in the configuration file: line and column count from 1, columns in code points.
  case file(String, line: Int, column: Int)
  /// An environment variable; the name ends in `_FILE` if the value was read from a file.
  case environment(String)

  /// `file:line:column`, the variable's name, or `default`.
  public var description: String {
    switch self {
    case .default: "default"
    case .file(let name, let line, let column): "\(name):\(line):\(column)"
    case .environment(let name): name
    }
  }
}

/// One thing that is wrong in the configuration.
public struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
  /// Where the wrong value stands; `default` if it stands nowhere.
  public let origin: ConfigurationOrigin
  /// The key in full, such as `server.limits.body`; empty if it is about no key.
  public let key: String
  /// What was expected and what was found, or what else is wrong. Holds no secret.
  public let message: String

  /// `file:line:column: key: message`.
  public var description: String {
    let place = origin == .default ? "" : "\(origin): "
    return place + (key.isEmpty ? "" : "\(key): ") + message
  }
}

extension ConfigurationOrigin {
  /// Another place of the same file.
  func moved(to place: TOMLNode.Place) -> Self {
    guard case .file(let name, _, _) = self else { return self }
    return .file(name, line: place.line, column: place.column)
  }

  /// The order of the file, then the variables by name, then what is written nowhere.
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

/// Everything that is wrong in the configuration.
public struct ConfigurationError: Error, Equatable, CustomStringConvertible {
  /// At least one problem, in the order of the file.
  public let problems: [ConfigurationProblem]

  /// The problems, one a line.
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }
}
