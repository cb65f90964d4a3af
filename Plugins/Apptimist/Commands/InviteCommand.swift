internal import Configuration
internal import Cryptography
internal import Observability
internal import ServiceKit
internal import Time

/// `awd invite new`.
struct InviteNewCommand: Command {
  static let name = "invite new"
  static let summary = "Make an invitation and print its token, of which only a hash is stored"
  static let parameters = [
    CommandParameter.configuration, .json,
    .option("uid", value: "UID", "only for this uid (default: for any)"),
    .option("uses", value: "N", "accounts that can be made with it (default: 1)"),
    .option("expires", value: "TIME", "time until it expires, such as 12h (default: 7d)"),
  ]

  private struct Invitation: Encodable {
    let token: String
    let uid: String?
    let uses: Int
    let expires: String
  }

  static func run(_ context: CommandContext) async throws {
    let uid = context.arguments["uid"]
    guard uid.map({ $0.utf8.count <= 255 }) ?? true else {
      throw CommandError.usage("--uid takes at most 255 bytes")
    }
    guard let uses = Int(context.arguments["uses"] ?? "1"), (1...1_000_000).contains(uses) else {
      throw CommandError.usage("--uses takes a number from 1 to 1000000")
    }
    guard let time = TimeSpan.parse(context.arguments["expires"] ?? "7d"), time > .zero,
      time <= .seconds(3650 * 86_400)
    else { throw CommandError.usage("--expires takes a duration such as 12h or 7d") }
    let service = try await context.serviceContext(for: ApptimistService.self)
    let configuration = ApptimistConfiguration(service.configuration)
    let store = ApptimistStore(store: service.store, limits: configuration.store)
    let token = Hex.encode(service.randomBytes(16))
    let expires = service.clock() + time
    try await store.addInvitation(
      InvitationHash(ofToken: [UInt8](token.utf8)), uid: uid, uses: uses, expires: expires)
    if context.arguments.has("json") {
      try context.print(
        json: Invitation(
          token: token, uid: uid, uses: uses, expires: expires.description))
    } else {
      context.print(token)
      if configuration.identity != .invite {
        context.print("(not needed at the moment: identity is \(configuration.identity.rawValue))")
      }
    }
  }
}
