internal import Configuration
internal import Cryptography
internal import ServiceKit
internal import Platform

/// `awd invite new`.
struct InviteNewCommand: Command {
  static let name = "invite new"
  static let summary = "Make an invitation and print its token, of which only a hash is stored"
  static let parameters = [
    CommandParameter.configuration, .json,
    .option("service", value: "NAME", "the service that it is for (default: one with uids)"),
    .option("uid", value: "UID", "only for this uid, if the service has uids (default: for any)"),
    .option("uses", value: "N", "accounts that can be made with it (default: 1)"),
    .option("expires", value: "TIME", "time until it expires, such as 12h (default: 7d)"),
  ]

  private struct Summary: Encodable {
    let token: String
    let uid: String?
    let uses: Int
    let expires: String
  }

  static func run(_ context: CommandContext) async throws {
    let inviting = context.services.compactMap { $0 as? any InvitingService.Type }
    let name = context.arguments["service"]
    guard
      let service = inviting.first(where: { name == nil ? $0.knowsUIDs : $0.name == name })
    else {
      let names = inviting.map { $0.name }.joined(separator: " or ")
      throw CommandError.usage("--service takes \(names)")
    }
    try await invite(to: service, context)
  }

  private static func invite<S: InvitingService>(
    to service: S.Type, _ context: CommandContext
  ) async throws {
    let uid = context.arguments["uid"]
    guard uid == nil || service.knowsUIDs else {
      throw CommandError.usage("--uid is not for \(service.name), which has no uids")
    }
    guard uid.map({ $0.utf8.count <= 255 }) ?? true else {
      throw CommandError.usage("--uid takes at most 255 bytes")
    }
    guard let uses = Int(context.arguments["uses"] ?? "1"), (1...1_000_000).contains(uses) else {
      throw CommandError.usage("--uses takes a number from 1 to 1000000")
    }
    guard let time = TimeSpan.parse(context.arguments["expires"] ?? "7d"), time > .zero,
      time <= .seconds(3650 * 86_400)
    else { throw CommandError.usage("--expires takes a duration such as 12h or 7d") }
    let serviceContext = try await context.serviceContext(for: service)
    let token = Hex.encode(serviceContext.randomBytes(16))
    let expires = serviceContext.clock() + time
    let note = try await service.add(
      Invitation(token: token, uid: uid, uses: uses, expires: expires), serviceContext,
      context.configuration(for: service))
    try context.print(
      json: Summary(token: token, uid: uid, uses: uses, expires: expires.description)
    ) {
      context.print(token)
      if let note { context.print("(\(note))") }
    }
  }
}
