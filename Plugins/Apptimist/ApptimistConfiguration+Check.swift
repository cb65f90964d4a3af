internal import ApptimistProtocol
internal import Cryptography
internal import Ethereum
package import ServiceKit
package import Storage

extension ApptimistConfiguration: Checking, BackedUp {
  /// The acknowledgements, as positions are given again that were given after the backup, and the open sessions.
  package static let unrestoredTables: [StaticString] = ["apptimist_devices", "apptimist_sessions"]

  /// The file of the service's keys.
  package var keyFiles: [String: String] { ["keys": keys] }

  /// Puts all messages into the mailboxes that they are for.
  package func settle(_ store: Store) async throws {
    try await ApptimistStore(store: store, limits: self.store).flushAll()
  }

  /// Warns of keys that others may read, and of accounts that anybody may make.
  ///
  /// - Parameter isExposed: whether other machines reach the server.
  package func warnings(isExposed: Bool) -> [ContentFinding] {
    allFindings(isExposed: isExposed).filter { $0.grade == .doubtful }
  }

  /// Checks the keys, and who may make an account; blocks on the disk.
  ///
  /// - Parameter isExposed: whether other machines reach the server.
  /// - Returns: a finding for each thing that was checked.
  package func findings(isExposed: Bool) async -> [ContentFinding] {
    allFindings(isExposed: isExposed)
  }

  private func allFindings(isExposed: Bool) -> [ContentFinding] {
    var findings = [
      Self.finding(keys), Self.finding(identity, isExposed: isExposed),
    ]
    let url = facebook.graphURL
    if identity == .facebook, !url.hasPrefix("https://") {
      findings.append(.doubtful("facebook: the app's secret is sent to \(url) without TLS"))
    }
    let issuer = oidc.issuer
    if identity == .oidc, issuer.hasPrefix("http://") {
      findings.append(
        .doubtful(
          "oidc: the keys of \(issuer) come without TLS; anyone on the network path can make accounts"
        ))
    }
    if identity == .oidc, oidc.nonce == .optional {
      findings.append(
        .doubtful("oidc: nonce = \"optional\" lets anyone who gets a token use it for other keys"))
    }
    for chain in siwe.chains where identity == .siwe && chains[chain] == nil {
      findings.append(
        ContentFinding(
          .doubtful,
          "siwe: [chains] has no endpoint of chain \(chain), so that contracts can't sign in"))
    }
    return findings
  }

  private static func finding(_ path: String) -> ContentFinding {
    do throws(KeyFile.Failure) {
      let key = try KeyFile(path: path).read()?.identity.encryptionKey.hex
      let missing =
        "`awd serve` or `awd keys new` will make them; if devices know other keys, restore those first"
      return .good("keys \(path): \(key ?? missing)")
    } catch { return .wrong("keys \(error); the service does not start") }
  }

  private static func finding(_ provider: Provider, isExposed: Bool) -> ContentFinding {
    guard provider == .open else { return .good("identity: \(provider.rawValue)") }
    return isExposed
      ? .doubtful(
        #"identity: open lets anyone who reaches the server make any number of accounts; "invite" "#
          + "admits only those who are invited")
      : .good("identity: open, for this machine alone")
  }
}
