/// A key with the value that is in effect.
public struct ConfigurationSetting: Sendable, Equatable, CustomStringConvertible {
  /// The key in full, such as `server.limits.body`.
  public let key: String
  /// The value as it would be written in TOML; `"***"` for a secret, `""` for none.
  public let value: String
  /// Where the value comes from.
  public let origin: ConfigurationOrigin

  /// `key = value  # origin`.
  public var description: String { "\(key) = \(value)  # \(origin)" }
}
