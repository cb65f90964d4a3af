internal import Configuration
internal import HTTPProtocol

/// The schema versions that certain wallets read: a table of `[[tokenscript.clients]]`.
struct ClientRule: Sendable {
  /// The value of `X-Client-Name` in any case.
  let name: String
  /// The value of `X-Platform-Name` in any case; empty for any platform.
  let platform: String
  /// The range of `X-Client-Version`.
  let versions: VersionRange
  /// The versions that these wallets read.
  let schemas: [SchemaVersion]

  /// Reads a table, and records its faults there.
  init(_ section: ConfigurationSection) {
    name = section.string("name", default: "")
    if name.isEmpty { section.reject("name", "expected the value of X-Client-Name") }
    platform = section.string("platform", default: "")
    versions = section.value(
      "versions", default: VersionRange.any,
      expected: "versions such as \">=1.0 <2.0\""
    ) { VersionRange($0) }
    schemas = section.values(
      "namespaces", default: [], expected: "a schema version such as \"2019/05\""
    ) { SchemaVersion($0) }
  }

  /// Returns whether a request comes from such a wallet.
  func matches(_ head: RequestHead) -> Bool {
    guard head.value(.clientName)?.lowercased() == name.lowercased(),
      platform.isEmpty || head.value(.platformName)?.lowercased() == platform.lowercased()
    else { return false }
    return versions.contains(head.value(.clientVersion) ?? "")
  }
}

extension [ClientRule] {
  /// Returns the versions that a request's wallet is known to read, or nil if none are listed for it.
  func schemas(readBy head: RequestHead) -> [SchemaVersion]? {
    let schemas = filter { $0.matches(head) }.flatMap(\.schemas)
    return schemas.isEmpty ? nil : schemas
  }
}

extension FieldName {
  static let clientName = FieldName("X-Client-Name")
  static let clientVersion = FieldName("X-Client-Version")
  static let platformName = FieldName("X-Platform-Name")
}

/// A range of a wallet's versions: comparisons that all hold, such as `>=1.0 <2.0`.
struct VersionRange: Sendable, Equatable, CustomStringConvertible {
  private struct Bound: Equatable {
    let sign: String
    let version: [UInt64]
  }

  // The longer signs come first, so that the prefix of a text is matched by the whole sign.
  private static let signs = [">=", "<=", ">", "<", "="]

  /// The text that the range was read from.
  let description: String
  private let bounds: [Bound]

  /// The range of all versions, and of clients without a version.
  static let any = VersionRange(description: "", bounds: [])

  private init(description: String, bounds: [Bound]) {
    self.description = description
    self.bounds = bounds
  }

  /// Reads a range, or returns nil for other text.
  ///
  /// - Parameter text: comparisons separated by blanks: one of `>=`, `<=`, `>`, `<`, `=`, and numbers separated by dots.
  init?(_ text: String) {
    var bounds: [Bound] = []
    for word in text.split(separator: " ") {
      guard let sign = Self.signs.first(where: word.hasPrefix),
        let version = Self.version(word.dropFirst(sign.count))
      else { return nil }
      bounds.append(Bound(sign: sign, version: version))
    }
    self.init(description: text, bounds: bounds)
  }

  /// Returns whether a version is in the range; text that is no version is in ``any`` only.
  ///
  /// - Parameter text: numbers separated by dots; missing ones count as 0.
  func contains(_ text: String) -> Bool {
    guard !bounds.isEmpty else { return true }
    guard let version = Self.version(text[...]) else { return false }
    return bounds.allSatisfy { bound in
      let sign =
        if version.lexicographicallyPrecedes(bound.version) {
          "<"
        } else if bound.version.lexicographicallyPrecedes(version) {
          ">"
        } else {
          "="
        }
      return bound.sign.contains(sign)
    }
  }

  /// Reads the numbers, without zeros at the end, so that 1.0 and 1 are one version.
  private static func version(_ text: Substring) -> [UInt64]? {
    var numbers: [UInt64] = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      guard let number = UInt64(part), part.first != "+" else { return nil }
      numbers.append(number)
    }
    while numbers.last == 0 { numbers.removeLast() }
    return numbers
  }
}
