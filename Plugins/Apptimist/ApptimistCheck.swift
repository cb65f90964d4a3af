internal import ApptimistProtocol
internal import Cryptography
internal import ServiceKit

/// The findings of `awd check` about Apptimist: its keys, and who may make an account.
enum ApptimistCheck {
  /// Checks the configuration and changes nothing; blocks on the disk.
  ///
  /// - Parameters:
  ///   - configuration: the configuration to check.
  ///   - isExposed: whether other machines reach the server.
  /// - Returns: a finding for each thing that was checked.
  static func findings(
    _ configuration: ApptimistConfiguration, isExposed: Bool
  ) -> [ContentFinding] {
    var findings = [
      keys(configuration.keys), identity(configuration.identity, isExposed: isExposed),
    ]
    let url = configuration.facebook.graphURL
    if configuration.identity == .facebook, !url.hasPrefix("https://") {
      findings.append(
        ContentFinding(.doubtful, "facebook: the app's secret is sent to \(url) without TLS"))
    }
    let issuer = configuration.oidc.issuer
    if configuration.identity == .oidc, issuer.hasPrefix("http://") {
      findings.append(
        ContentFinding(
          .doubtful,
          "oidc: the keys of \(issuer) come without TLS; who is on the way can make accounts"))
    }
    if configuration.identity == .oidc, configuration.oidc.nonce == .optional {
      findings.append(
        ContentFinding(
          .doubtful,
          "oidc: nonce = \"optional\" lets who gets hold of a token use it for other keys"))
    }
    return findings
  }

  private static func keys(_ path: String) -> ContentFinding {
    do throws(KeyFile.Failure) {
      let key = try KeyFile(path: path).read()?.identity.encryptionKey.hex
      let missing =
        "`awd serve` or `awd keys new` will make them; if devices know others, restore those first"
      return ContentFinding(.good, "keys \(path): \(key ?? missing)")
    } catch {
      return ContentFinding(.wrong, "keys \(error); the service does not start")
    }
  }

  private static func identity(
    _ provider: ApptimistConfiguration.Provider, isExposed: Bool
  ) -> ContentFinding {
    guard provider == .open else { return ContentFinding(.good, "identity: \(provider.rawValue)") }
    return isExposed
      ? ContentFinding(
        .doubtful,
        #"identity: open lets anyone who reaches the server make any number of accounts; "invite" "#
          + "admits only those who are invited")
      : ContentFinding(.good, "identity: open, for this machine alone")
  }
}
