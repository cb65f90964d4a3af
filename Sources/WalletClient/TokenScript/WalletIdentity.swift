internal import HTTPProtocol

/// A wallet's description of itself in every request, from which a repository can choose a file that this wallet reads.
public struct WalletIdentity: Sendable, Equatable {
  /// The platforms that the specification knows.
  public enum Platform: String, Sendable, CaseIterable {
    case iOS
    case android = "Android"
  }

  /// `X-Client-Name`: the wallet's name.
  public var name: String
  /// `X-Client-Version`: the wallet's version, such as `1.0.3`.
  public var version: String
  /// `X-Platform-Name`: the system that the wallet runs on.
  public var platform: Platform
  /// `X-Platform-Version`: the version of that system, such as `11.1.2`.
  public var platformVersion: String

  /// Makes an identity.
  ///
  /// - Parameters:
  ///   - name: the wallet's name.
  ///   - version: the wallet's version.
  ///   - platform: the system it runs on.
  ///   - platformVersion: that system's version.
  public init(
    name: String = "awd", version: String = "1.0", platform: Platform = .android,
    platformVersion: String = "14"
  ) {
    (self.name, self.version, self.platform) = (name, version, platform)
    self.platformVersion = platformVersion
  }

  /// The five header fields of every request.
  var fields: HeaderFields {
    var fields = HeaderFields()
    fields.append(.accept, "text/xml; charset=UTF-8")
    fields.append(FieldName("X-Client-Name"), name)
    fields.append(FieldName("X-Client-Version"), version)
    fields.append(FieldName("X-Platform-Name"), platform.rawValue)
    fields.append(FieldName("X-Platform-Version"), platformVersion)
    return fields
  }
}
