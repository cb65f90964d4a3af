public import Configuration
public import ServiceKit

extension MsgrService {
  /// Warns of accounts that anybody may make.
  ///
  /// - Parameters:
  ///   - configuration: the section `[msgr]`.
  ///   - isExposed: whether other machines reach the server.
  public static func warnings(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) -> [ContentFinding] {
    guard isExposed, MsgrConfiguration(configuration).signup == .open else { return [] }
    return [
      ContentFinding(
        .doubtful,
        "accounts: anyone who reaches the server may make one, and send messages; "
          + #"[msgr] signup = "invite" asks for an invitation"#)
    ]
  }
}
