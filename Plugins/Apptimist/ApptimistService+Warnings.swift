public import Configuration
public import ServiceKit

extension ApptimistService {
  /// Warns of keys that others may read, and of accounts that anybody may make.
  ///
  /// - Parameters:
  ///   - configuration: the section `[apptimist]`.
  ///   - isExposed: whether other machines reach the server.
  public static func warnings(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) -> [ContentFinding] {
    ApptimistCheck.findings(ApptimistConfiguration(configuration), isExposed: isExposed)
      .filter { $0.grade == .doubtful }
  }
}
