internal import ServiceKit

/// `awd token new`.
struct TokenNewCommand: Command {
  static let name = "token new"
  static let summary = "Make a token that can only publish, and print it; only a hash is stored"
  static let parameters = [
    CommandParameter.configuration, .json,
    .option("name", value: "NAME", "its name, as in anna/NAME (default: token)"),
    .option("to", value: "NAMES", "the recipients, separated by commas (default: the owner)"),
    .operand("USER", "the account that owns it"),
  ]

  private struct Summary: Encodable {
    let token: String
    let sender: String
  }

  static func run(_ context: CommandContext) async throws {
    let given = context.arguments
    let owner: UserName
    let name: String
    let recipients: [UserName]
    do throws(FieldError) {
      owner = try UserName(given.operands.first ?? "", in: .username)
      let fields = FieldValues([.name: given["name"] ?? "token", .to: given["to"] ?? ""])
      name = try fields.publisherName()
      recipients = try fields.names(.to, atMost: MsgrStore.publisherRecipients)
    } catch { throw CommandError.usage(error.sentence) }
    let service = try await context.serviceContext(for: MsgrService.self)
    let store = MsgrStore(service, try context.configuration(for: MsgrService.self))
    let token = BearerToken(service.randomBytes(32))
    do {
      try await store.addPublisher(name, to: recipients, of: owner, token.hash)
    } catch RequestRefusal.forbidden {
      throw CommandError.refused("the owner or a recipient has no account, or the name is taken")
    } catch RequestRefusal.tooManyContacts {
      throw CommandError.refused("the owner has as many tokens as an account may have")
    }
    try context.print(
      json: Summary(token: token.text, sender: Publisher.sender(owner, name).text)
    ) {
      context.print(token.text)
    }
  }
}
