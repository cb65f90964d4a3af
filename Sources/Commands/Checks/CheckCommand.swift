internal import Configuration
internal import ServiceKit
internal import Platform

/// `awd check`: reads the configuration and the content as `awd serve` would, and changes nothing.
struct CheckCommand: Command {
  static let name = "check"
  static let summary = "Check the configuration, the machine and the content, and change nothing"
  static let parameters = [
    CommandParameter.configuration,
    .flag("verbose", "print every value in effect and what is good, too"), .json,
  ]

  private struct Report: Encodable {
    struct Finding: Encodable {
      let service: String
      let grade: ContentFinding.Grade
      let message: String
    }

    let valid: Bool
    let file: String?
    var settings: [ConfigurationSetting] = []
    var problems: [ConfigurationProblem] = []
    var content: [Finding] = []
  }

  static func run(_ context: CommandContext) async throws {
    let file = context.configurationFile
    let configuration: LoadedConfiguration
    do throws(ConfigurationError) {
      configuration = try LoadedConfiguration(
        file: file, environment: context.environment, services: context.services)
    } catch {
      try context.print(json: Report(valid: false, file: file, problems: error.problems)) {}
      throw CommandError.refused(error.reason)
    }
    try DataOwner(of: configuration.server.data, configuredIn: file)?.become()
    let content = await findings(configuration, context)
    let wrong = content.count { $0.grade == .wrong }
    let report = Report(
      valid: wrong == 0, file: file, settings: configuration.settings, content: content)
    try context.print(json: report) {
      if file == nil { context.print("# no configuration file: the development setting") }
      let isVerbose = context.arguments.has("verbose")
      if isVerbose { for setting in configuration.settings { context.print("\(setting)") } }
      for finding in content where isVerbose || finding.grade != .good {
        context.print("# \(finding.service): \(finding.grade.rawValue): \(finding.message)")
      }
      let good = content.count { $0.grade == .good }
      if !isVerbose {
        context.print(
          "# \(good) of \(content.count) findings are good; \(Product.name) check --verbose shows them, "
            + "and every value in effect")
      }
    }
    guard wrong == 0 else {
      throw CommandError.refused(wrong == 1 ? "1 finding is wrong" : "\(wrong) findings are wrong")
    }
  }

  /// Checks the machine, the certificate and the content of the services that are switched on.
  private static func findings(
    _ configuration: LoadedConfiguration, _ context: CommandContext
  ) async -> [Report.Finding] {
    let server = configuration.server
    let services = context.services
    var found = [
      ("system", SystemCheck.findings(configuration, context.environment)),
      ("system", configuration.doubts),
      ("server", ListenCheck.findings(server)),
      ("server", ExposureCheck.findings(server)),
      ("store", await StoreCheck.findings(configuration, services)),
    ]
    if let tls = server.tls {
      found.append(
        (
          "server",
          CertificateFiles.findings(
            for: "TLS", certificate: tls.certificate, key: tls.key, at: .now())
        ))
    }
    for service in services where server.services.contains(service.name) {
      guard let checking = configuration.checking(service) else { continue }
      let findings = await checking.findings(isExposed: server.isExposed)
      let warnings = checking.warnings(isExposed: server.isExposed)
      found.append((service.name, warnings.filter { !findings.contains($0) } + findings))
    }
    return found.flatMap { name, findings in
      findings.map { Report.Finding(service: name, grade: $0.grade, message: $0.message) }
    }
  }
}
