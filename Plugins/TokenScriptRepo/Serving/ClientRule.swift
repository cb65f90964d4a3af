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
