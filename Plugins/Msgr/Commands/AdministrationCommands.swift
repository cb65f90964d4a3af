package import ServiceKit

/// `awd user show`.
struct UserShowCommand: Command {
  static let name = "user show"
  static let summary = "Show what an account has: devices, messages, wallets, tokens"
  static let parameters = [
    CommandParameter.configuration, .json, .operand("NAME", "the account's name"),
  ]

  static func run(_ context: CommandContext) async throws {
    let name = try context.administeredName()
    let details = try await context.details(of: name, in: try await context.administeredStore())
    try context.print(json: details) {
      context.print("name      \(details.name.printable)")
      if details.isDisabled { context.print("state     disabled") }
      context.print("since     \(details.created)")
      context.print("password  \(details.hasPassword ? "yes" : "no, wallets only")")
      context.print("devices   \(details.devices)")
      context.print("messages  \(details.messages), unread \(details.unread)")
      context.print("contacts  \(details.contacts)")
      for wallet in details.wallets { context.print("wallet    \(wallet)") }
      for token in details.tokens {
        context.print("token     \(token.name.printable), used \(token.lastUse)")
      }
    }
  }
}

/// `awd user disable`.
struct UserDisableCommand: Command {
  static let name = "user disable"
  static let summary =
    "Keep an account from logging in and getting messages; its sessions and tokens end"
  static let parameters = [
    CommandParameter.configuration, .json, .operand("NAME", "the account's name"),
  ]

  static func run(_ context: CommandContext) async throws { try await context.setDisabled(true) }
}

/// `awd user enable`.
struct UserEnableCommand: Command {
  static let name = "user enable"
  static let summary = "Enable an account again that was disabled"
  static let parameters = [
    CommandParameter.configuration, .json, .operand("NAME", "the account's name"),
  ]

  static func run(_ context: CommandContext) async throws { try await context.setDisabled(false) }
}

/// `awd user export`.
struct UserExportCommand: Command {
  static let name = "user export"
  static let summary = "Print all that Msgr stores of an account but passwords and tokens, as JSON"
  static let parameters = [
    CommandParameter.configuration, .json, .operand("NAME", "the account's name"),
  ]

  static func run(_ context: CommandContext) async throws {
    let name = try context.administeredName()
    var export: [UInt8] = []
    do {
      let pieces = try await context.administeredStore().export(for: .administrator(of: name))
      for try await piece in pieces { export += piece }
    } catch RequestRefusal.forbidden { throw CommandError.refused("there is no such account") }
    context.print(encodedJSON: String(decoding: export, as: UTF8.self))
  }
}

/// `awd token list`.
struct TokenListCommand: Command {
  static let name = "token list"
  static let summary = "List the tokens that publish, of one account or of all"
  static let parameters = [
    CommandParameter.configuration, .json,
    .operands("USER", atLeast: 0, "only this account's (default: all)"),
  ]

  static func run(_ context: CommandContext) async throws {
    guard context.arguments.operands.count <= 1 else {
      throw CommandError.usage("unexpected argument \(context.arguments.operands[1])")
    }
    let owner = context.arguments.operands.isEmpty ? nil : try context.administeredName()
    let store = try await context.administeredStore()
    if let owner { _ = try await context.details(of: owner, in: store) }
    let tokens = try await store.publishers(of: owner)
    try context.print(json: tokens) {
      for token in tokens {
        let name = "\(token.owner.printable)/\(token.name.printable)"
        context.print("\(name)\tsince \(token.created)\tused \(token.lastUse)")
      }
    }
  }
}

/// `awd token revoke`.
struct TokenRevokeCommand: Command {
  static let name = "token revoke"
  static let summary = "Revoke a token that publishes"
  static let parameters = [
    CommandParameter.configuration, .json,
    .operand("USER/NAME", "the token, as `awd token list` shows it"),
  ]

  static func run(_ context: CommandContext) async throws {
    let text = context.arguments.operands[0]
    guard let slash = text.lastIndex(of: "/") else {
      throw CommandError.usage("USER/NAME has a slash between the account and the token")
    }
    let owner: UserName
    do throws(FieldError) {
      owner = try UserName(String(text[..<slash]), in: .username)
    } catch { throw CommandError.usage("USER \(error.message)") }
    let name = String(text[text.index(after: slash)...])
    guard let token = try await context.administeredStore().removePublisher(name, of: owner) else {
      throw CommandError.refused("there is no token \(text.printable)")
    }
    try context.print(json: token) {}
  }
}

extension CommandContext {
  fileprivate func administeredName() throws(CommandError) -> UserName {
    do throws(FieldError) {
      return try UserName(arguments.operands.first ?? "", in: .username)
    } catch { throw .usage("NAME \(error.message)") }
  }

  fileprivate func setDisabled(_ isDisabled: Bool) async throws {
    let name = try administeredName()
    let store = try await administeredStore()
    let hasChanged = try await store.setDisabled(isDisabled, name)
    let details = try await details(of: name, in: store)
    // It is in the state that was asked for, so a script may say so twice.
    guard hasChanged || details.isDisabled == isDisabled else {
      throw CommandError.refused(
        "the account \(details.name.printable) has changed meanwhile; try again")
    }
    try print(json: details) {
      guard !hasChanged else { return }
      print("\(details.name.printable) is \(isDisabled ? "disabled" : "enabled") already")
    }
  }

  fileprivate func details(
    of name: UserName, in store: MsgrStore
  ) async throws -> AccountDetails {
    do {
      return try await store.details(of: name)
    } catch RequestRefusal.forbidden { throw CommandError.refused("there is no such account") }
  }

  fileprivate func administeredStore() async throws -> MsgrStore {
    MsgrStore(
      try await serviceContext(for: MsgrService.self), try configuration(for: MsgrService.self))
  }
}

extension MsgrService {
  /// Lists the invitations that are good.
  package static func invitations(
    _ context: ServiceContext, _ configuration: MsgrConfiguration
  ) async throws -> [InvitationSummary] {
    try await MsgrStore(context, configuration).invitations()
  }

  /// Revokes an invitation.
  package static func revokeInvitation(
    _ id: String, _ context: ServiceContext, _ configuration: MsgrConfiguration
  ) async throws -> Bool {
    try await MsgrStore(context, configuration).revokeInvitation(id)
  }
}

extension MsgrService: Erasing {
  /// Deletes a person's account, and what others have of it.
  package static func erase(
    _ person: String, isTrial: Bool, _ context: ServiceContext, _ configuration: MsgrConfiguration
  ) async throws -> [ErasedPart] {
    try await MsgrStore(context, configuration).erase(person, isTrial: isTrial)
  }
}
