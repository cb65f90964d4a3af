package import ServiceKit
internal import Platform

extension MsgrConfiguration: Checking {
  /// Checks the keys and certificates that pushes are made with.
  ///
  /// - Parameter isExposed: whether other machines reach the server.
  /// - Returns: a finding for each.
  package func findings(isExposed: Bool) async -> [ContentFinding] {
    push.findings(pushServices, hasWeb: true, isExposed: isExposed, at: .now())
  }

  /// Warns of accounts that anybody may make.
  ///
  /// - Parameter isExposed: whether other machines reach the server.
  package func warnings(isExposed: Bool) -> [ContentFinding] {
    guard isExposed, signup == .open else { return [] }
    return [
      ContentFinding(
        .doubtful,
        "accounts: anyone who reaches the server may make one, and send messages; "
          + #"[msgr] signup = "invite" asks for an invitation"#)
    ]
  }
}
