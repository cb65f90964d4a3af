internal import ApptimistProtocol
internal import Cryptography
package import ServiceKit

/// `awd apptimist user list`.
struct AccountListCommand: Command {
  static let name = "apptimist user list"
  static let summary = "List Apptimist's users, in the order in which they were made"
  static let parameters = CommandParameter.listing

  static func run(_ context: CommandContext) async throws { try await context.list(forums: false) }
}

/// `awd apptimist user show`.
struct AccountShowCommand: Command {
  static let name = "apptimist user show"
  static let summary = "Show what Apptimist stores of a user, in numbers"
  static let parameters = [CommandParameter.configuration, .json, .key]

  static func run(_ context: CommandContext) async throws { try await context.show(forum: false) }
}

/// `awd apptimist user disable`.
struct AccountDisableCommand: Command {
  static let name = "apptimist user disable"
  static let summary = "Keep a user from logging in, being found and getting messages"
  static let parameters = [CommandParameter.configuration, .json, .key]

  static func run(_ context: CommandContext) async throws { try await context.setDisabled(true) }
}

/// `awd apptimist user enable`.
struct AccountEnableCommand: Command {
  static let name = "apptimist user enable"
  static let summary = "Enable a user again who was disabled"
  static let parameters = [CommandParameter.configuration, .json, .key]

  static func run(_ context: CommandContext) async throws { try await context.setDisabled(false) }
}

/// `awd apptimist user remove`.
struct AccountRemoveCommand: Command {
  static let name = "apptimist user remove"
  static let summary = "Delete a user with mailbox, files and forums; the key stays taken"
  static let parameters = [CommandParameter.configuration, .json, .key]

  static func run(_ context: CommandContext) async throws {
    let key = try context.key()
    let store = try await context.administeredStore()
    let account = try await store.administeredAccount(key)
    guard try await store.removeUser(key) else {
      throw CommandError.refused("there is no user with this key")
    }
    try context.print(json: account) {}
  }
}

/// `awd apptimist user export`.
struct AccountExportCommand: Command {
  static let name = "apptimist user export"
  static let summary = "Print all that Apptimist stores of a user, as JSON"
  static let parameters = [CommandParameter.configuration, .json, .key]

  static func run(_ context: CommandContext) async throws {
    let key = try context.key()
    guard let export = try await context.administeredStore().export(key) else {
      throw CommandError.refused("there is no user with this key")
    }
    try context.print(json: export)
  }
}

/// `awd apptimist forum list`.
struct ForumListCommand: Command {
  static let name = "apptimist forum list"
  static let summary = "List Apptimist's forums, in the order in which they were made"
  static let parameters = CommandParameter.listing

  static func run(_ context: CommandContext) async throws { try await context.list(forums: true) }
}

/// `awd apptimist forum show`.
struct ForumShowCommand: Command {
  static let name = "apptimist forum show"
  static let summary = "Show what Apptimist stores of a forum, in numbers"
  static let parameters = [CommandParameter.configuration, .json, .key]

  static func run(_ context: CommandContext) async throws { try await context.show(forum: true) }
}

/// `awd apptimist forum remove`.
struct ForumRemoveCommand: Command {
  static let name = "apptimist forum remove"
  static let summary = "Delete a forum with its files; the key stays taken"
  static let parameters = [CommandParameter.configuration, .json, .key]

  static func run(_ context: CommandContext) async throws {
    let key = try context.key()
    let store = try await context.administeredStore()
    let forum = try await store.administeredAccount(key)
    guard try await store.removeForum(key) else {
      throw CommandError.refused("there is no forum with this key")
    }
    try context.print(json: forum) {}
  }
}

extension CommandParameter {
  fileprivate static let key = CommandParameter.operand(
    "KEY", "the account's encryption key, 64 hexadecimal digits")
  fileprivate static let listing: [CommandParameter] = [
    .configuration, .json,
    .option("behind", value: "KEY", "begin behind this account (default: at the first)"),
    .option("count", value: "N", "at most so many (default: 1000)"),
  ]
}

extension CommandContext {
  fileprivate func key() throws(CommandError) -> EncryptionPublicKey {
    guard let key = EncryptionPublicKey(hex: arguments.operands.first ?? "") else {
      throw .usage("KEY has 64 hexadecimal digits")
    }
    return key
  }

  fileprivate func administeredStore() async throws -> ApptimistStore {
    let context = try await serviceContext(for: ApptimistService.self)
    return ApptimistStore(
      store: context.store, limits: try configuration(for: ApptimistService.self).store)
  }

  fileprivate func list(forums: Bool) async throws {
    guard let count = Int(arguments["count"] ?? "1000"), (1...100_000).contains(count) else {
      throw CommandError.usage("--count takes a number from 1 to 100000")
    }
    let start = try arguments["behind"].map { text throws(CommandError) in
      guard let key = EncryptionPublicKey(hex: text) else {
        throw .usage("--behind takes a key of 64 hexadecimal digits")
      }
      return key
    }
    let accounts = try await administeredStore().administeredAccounts(
      forums: forums, behind: start, atMost: count)
    try print(json: accounts) {
      for account in accounts {
        let state = account.isDisabled ? "\tdisabled" : ""
        let contents =
          forums
          ? "files \(account.files)" : "messages \(account.messages)\tforums \(account.forums)"
        print("\(account.key)\t\(account.name.printable)\t\(contents)\(state)")
      }
    }
  }

  fileprivate func show(forum: Bool) async throws {
    let account = try await administeredStore().administeredAccount(try key())
    guard let account, forum == (account.author != nil) else {
      throw CommandError.refused("there is no \(forum ? "forum" : "user") with this key")
    }
    try print(json: account) {
      print("key       \(account.key)")
      print("name      \(account.name.printable)")
      if let uid = account.uid { print("uid       \(uid.printable)") }
      if let author = account.author { print("author    \(author)") }
      if account.isDisabled { print("state     disabled") }
      print("made      \(account.made ?? "unknown")")
      print("seen      \(account.seen ?? "not since the first day")")
      print("messages  \(account.messages), \(quantity(account.messageBytes, "byte"))")
      print("files     \(account.files), \(quantity(account.fileBytes, "byte"))")
      print("forums    \(account.forums)")
      print("devices   \(account.devices)")
    }
  }

  fileprivate func setDisabled(_ isDisabled: Bool) async throws {
    let key = try key()
    let service = try await serviceContext(for: ApptimistService.self)
    let store = try await administeredStore()
    let hasChanged = try await store.setDisabled(isDisabled, key, at: service.clock())
    let account = try await store.administeredAccount(key)
    // It is in the state that was asked for, so a script may say so twice.
    guard let account, account.author == nil, hasChanged || account.isDisabled == isDisabled else {
      throw CommandError.refused("there is no user with this key")
    }
    try print(json: account) {
      if !hasChanged { print("the user is \(isDisabled ? "disabled" : "enabled") already") }
    }
  }
}

extension ApptimistService {
  /// Lists the invitations that are good.
  package static func invitations(
    _ context: ServiceContext, _ configuration: ApptimistConfiguration
  ) async throws -> [InvitationSummary] {
    try await ApptimistStore(store: context.store, limits: configuration.store)
      .invitations(at: context.clock())
  }

  /// Revokes an invitation.
  package static func revokeInvitation(
    _ id: String, _ context: ServiceContext, _ configuration: ApptimistConfiguration
  ) async throws -> Bool {
    try await ApptimistStore(store: context.store, limits: configuration.store)
      .revokeInvitation(id)
  }
}

extension ApptimistService: Erasing {
  /// Deletes the users of a person with all that they have.
  package static func erase(
    _ person: String, isTrial: Bool, _ context: ServiceContext,
    _ configuration: ApptimistConfiguration
  ) async throws -> [ErasedPart] {
    let store = ApptimistStore(store: context.store, limits: configuration.store)
    var parts: [ErasedPart] = []
    for account in try await store.users(of: person) {
      parts.append(ErasedPart("account \(account.key)", 1))
      parts += [
        ErasedPart("messages of its mailbox", account.messages), ErasedPart("files", account.files),
        ErasedPart("forums", account.forums),
      ].filter { $0.count > 0 }
      guard !isTrial, let key = EncryptionPublicKey(hex: account.key) else { continue }
      _ = try await store.removeUser(key)
    }
    return parts
  }
}
