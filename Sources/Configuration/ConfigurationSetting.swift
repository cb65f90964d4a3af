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
