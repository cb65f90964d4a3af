internal import Configuration
internal import HTTPProtocol

/// Which schema versions some wallets read, as `[[tokenscript.clients]]` tells.
struct ClientRule: Sendable {
  /// `X-Client-Name`, compared without regard to case.
  let name: String
  /// `X-Platform-Name`, compared without regard to case; empty: any.
  let platform: String
  /// Which `X-Client-Version`s are meant.
  let versions: VersionRange
  /// What these wallets read.
  let schemas: [SchemaVersion]

  /// Reads a table; what is wrong with it is recorded there.
  ///
  /// - Parameter section: the table.
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

  /// Whether a request comes from such a wallet.
  ///
  /// - Parameter head: the request with the fields that both specifications ask for.
  func matches(_ head: RequestHead) -> Bool {
    guard let client = head.value(.clientName), client.lowercased() == name.lowercased() else {
      return false
    }
    if !platform.isEmpty {
      guard let value = head.value(.platformName), value.lowercased() == platform.lowercased()
      else { return false }
    }
    return versions.contains(head.value(.clientVersion) ?? "")
  }
}

extension FieldName {
  static let clientName = FieldName("X-Client-Name")
  static let clientVersion = FieldName("X-Client-Version")
  static let platformName = FieldName("X-Platform-Name")
}
