internal import ServiceKit

/// `awd user erase`: deletes what all services have of a person, also where others keep it.
struct UserEraseCommand: Command {
  static let name = "user erase"
  static let summary = "Delete everything that all services have of a person, and report what went"
  static let parameters = [
    CommandParameter.configuration, .flag("check", "report what would go, and delete nothing"),
    .json,
    .operand("PERSON", "a Msgr name, an Apptimist key or uid, or an Ethereum address"),
  ]

  private struct Report: Encodable {
    struct Service: Encodable {
      let service: String
      let parts: [ErasedPart]
    }

    let person: String
    let isErased: Bool
    let services: [Service]
  }

  static func run(_ context: CommandContext) async throws {
    let person = context.arguments.operands[0]
    let isTrial = context.arguments.has("check")
    guard !person.isEmpty else { throw CommandError.usage("PERSON is empty") }
    var services: [Report.Service] = []
    for service in context.services.compactMap({ $0 as? any Erasing.Type }) {
      let parts = try await erase(person, isTrial, in: service, context)
      if !parts.isEmpty { services.append(Report.Service(service: service.name, parts: parts)) }
    }
    guard !services.isEmpty else {
      throw CommandError.refused("no service knows \(person.printable)")
    }
    let report = Report(person: person, isErased: !isTrial, services: services)
    try context.print(json: report) {
      for service in services {
        for part in service.parts {
          context.print("\(service.service)\t\(part.kind)\t\(part.count)")
        }
      }
      context.print(
        isTrial
          ? "Nothing is deleted: this was --check."
          : "Deleted. Backups that were made before still hold it, and so do the person's own devices and contacts."
      )
    }
  }

  private static func erase<S: Erasing>(
    _ person: String, _ isTrial: Bool, in service: S.Type, _ context: CommandContext
  ) async throws -> [ErasedPart] {
    try await service.erase(
      person, isTrial: isTrial, context.serviceContext(for: service),
      context.configuration(for: service))
  }
}
