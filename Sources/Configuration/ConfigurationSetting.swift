/// A key with the value that is in effect.
public struct ConfigurationSetting: Sendable, Equatable, Encodable, CustomStringConvertible {
  /// The full key, such as `server.limits.body`.
  public let key: String
  /// The value as it would be written in TOML: `"***"` for a secret, `""` for none.
  public let value: String
  /// The origin of the value.
  public let origin: ConfigurationOrigin

  /// True if the value isn't shown.
  public var isSecret: Bool { value == Self.hidden }
  static let hidden = "\"***\""

  /// The setting as `key = value  # origin`.
  public var description: String { "\(key) = \(value)  # \(origin)" }
}
