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
    .option(
      "service", value: "NAME", "the service that it is for: apptimist or msgr (default: apptimist)"
    ),
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
    else {
      throw CommandError.usage("--expires takes a duration such as 12h or 7d, of at most 3650d")
    }
    let serviceContext = try await context.serviceContext(for: service)
    let token = Hex.encode(serviceContext.randomBytes(16))
    let expires = serviceContext.clock() + time
    let configuration = try context.configuration(for: service)
    let note = try await service.add(
      Invitation(token: token, uid: uid, uses: uses, expires: expires), serviceContext,
      configuration)
    try await context.print(
      secret: Summary(token: token, uid: uid, uses: uses, expires: expires.description)
    ) {
      context.print(token)
      if let note { context.print("(\(note))") }
    } takeBack: {
      let id = InvitationSummary.id(ofHash: InvitationHash(ofToken: token.utf8).bytes)
      _ = try await service.revokeInvitation(id, serviceContext, configuration)
    }
  }
}

/// `awd invite list`.
struct InviteListCommand: Command {
  static let name = "invite list"
  static let summary = "List the invitations that are good"
  static let parameters = [CommandParameter.configuration, .json, .service]

  private struct Entry: Encodable {
    let service: String
    let invitation: InvitationSummary
  }

  static func run(_ context: CommandContext) async throws {
    var entries: [Entry] = []
    for service in try context.invitingServices() {
      entries += try await list(service, context).map {
        Entry(service: service.name, invitation: $0)
      }
    }
    try context.print(json: entries) {
      for entry in entries {
        let invitation = entry.invitation
        let uid = invitation.uid.map { "\tfor \($0.printable)" } ?? ""
        context.print(
          "\(invitation.id)\t\(entry.service)\tuses \(invitation.uses)\tuntil \(invitation.expires)\(uid)"
        )
      }
    }
  }

  private static func list<S: InvitingService>(
    _ service: S.Type, _ context: CommandContext
  ) async throws -> [InvitationSummary] {
    try await service.invitations(
      context.serviceContext(for: service), context.configuration(for: service))
  }
}

/// `awd invite revoke`.
struct InviteRevokeCommand: Command {
  static let name = "invite revoke"
  static let summary = "Revoke an invitation; accounts that were made with it stay"
  static let parameters = [
    CommandParameter.configuration, .json, .service,
    .operand("ID", "the invitation's first column in `awd invite list`"),
  ]

  private struct Revocation: Encodable {
    let service: String
    let id: String
  }

  static func run(_ context: CommandContext) async throws {
    let id = context.arguments.operands[0].lowercased()
    guard id.utf8.count == InvitationSummary.idLength, id.utf8.allSatisfy(\.isHexDigit) else {
      throw CommandError.usage("ID has \(InvitationSummary.idLength) hexadecimal digits")
    }
    for service in try context.invitingServices() where try await revoke(id, of: service, context) {
      return try context.print(json: Revocation(service: service.name, id: id)) {}
    }
    throw CommandError.refused("there is no invitation \(id)")
  }

  private static func revoke<S: InvitingService>(
    _ id: String, of service: S.Type, _ context: CommandContext
  ) async throws -> Bool {
    try await service.revokeInvitation(
      id, context.serviceContext(for: service), context.configuration(for: service))
  }
}

extension CommandParameter {
  fileprivate static let service = CommandParameter.option(
    "service", value: "NAME", "only this service (default: all)")
}

extension CommandContext {
  /// Returns the service that `--service` names, or all that know invitations.
  fileprivate func invitingServices() throws(CommandError) -> [any InvitingService.Type] {
    let inviting = services.compactMap { $0 as? any InvitingService.Type }
    guard let name = arguments["service"] else { return inviting }
    guard let service = inviting.first(where: { $0.name == name }) else {
      let names = inviting.map { $0.name }.joined(separator: " or ")
      throw .usage("--service takes \(names)")
    }
    return [service]
  }
}

extension UInt8 {
  fileprivate var isHexDigit: Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
  }
}
