internal import ApptimistProtocol
internal import Cryptography
internal import ServiceKit

/// What `awd check` tells of Apptimist: its keys, and who may make an account.
enum ApptimistCheck {
  /// Looks, and changes nothing; blocks on the disk.
  ///
  /// - Parameters:
  ///   - configuration: what is checked.
  ///   - isExposed: whether other machines reach the server.
  /// - Returns: a line for each.
  static func findings(
    _ configuration: ApptimistConfiguration, isExposed: Bool
  ) -> [ContentFinding] {
    var findings = [
      keys(configuration.keys), identity(configuration.identity, isExposed: isExposed),
    ]
    if let url = configuration.facebook?.graphURL, !url.hasPrefix("https://") {
      findings.append(
        ContentFinding(.doubtful, "facebook: to \(url) the app's secret goes as it is, without TLS")
      )
    }
    return findings
  }

  private static func keys(_ path: String) -> ContentFinding {
    do throws(KeyFile.Failure) {
      guard let keys = try KeyFile(path: path).read() else { return missingKeys(path) }
      return ContentFinding(.good, "keys \(path): \(keys.identity.encryptionKey.hex)")
    } catch {
      return ContentFinding(.wrong, "keys \(error); the service does not start")
    }
  }

  private static func missingKeys(_ path: String) -> ContentFinding {
    ContentFinding(
      .good,
      "keys \(path): `awd serve` or `awd keys new` makes them; restore them first if devices know "
        + "others")
  }

  private static func identity(
    _ provider: ApptimistConfiguration.Provider, isExposed: Bool
  ) -> ContentFinding {
    guard provider == .open else { return ContentFinding(.good, "identity: \(provider.rawValue)") }
    return isExposed
      ? ContentFinding(
        .doubtful,
        #"identity: open lets anyone who reaches the server make accounts, any number; "invite" "#
          + "lets those in whom you ask")
      : ContentFinding(.good, "identity: open, for this machine alone")
  }
}
