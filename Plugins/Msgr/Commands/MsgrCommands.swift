internal import Cryptography
internal import Push
internal import ServiceKit

/// `awd user list`.
struct UserListCommand: Command {
  static let name = "user list"
  static let summary = "List the accounts"
  static let parameters = [CommandParameter.configuration, .json]

  static func run(_ context: CommandContext) async throws {
    let accounts = try await context.openStore().accounts()
    if context.arguments.has("json") {
      try context.print(json: accounts)
    } else {
      for account in accounts {
        context.print(
          "\(account.name.printable)\tsince \(account.created)\tdevices \(account.devices)"
            + "\tmessages \(account.messages)\(account.isDisabled ? "\tdisabled" : "")")
      }
    }
  }
}

/// `awd user add`.
struct UserAddCommand: Command {
  static let name = "user add"
  static let summary = "Make an account; its password is read from standard input"
  static let parameters = [CommandParameter.configuration, .json, .passwordFile, .userName]

  static func run(_ context: CommandContext) async throws {
    let name = try context.userName(isNew: true)
    let hash = try context.newPasswordHash()
    _ = try await context.withStore(refusal: "the name is taken") { store in
      try await store.register(name, hash, device: nil)
    }
    try await context.printDetails(of: name)
  }
}

/// `awd user password`.
struct UserPasswordCommand: Command {
  static let name = "user password"
  static let summary = "Change an account's password, read from standard input, and end its tokens"
  static let parameters = [CommandParameter.configuration, .json, .passwordFile, .userName]

  static func run(_ context: CommandContext) async throws {
    let name = try context.userName()
    let hash = try context.newPasswordHash()
    try await context.withStore { store in try await store.setPassword(hash, of: name) }
    try await context.printDetails(of: name)
  }
}

/// `awd user remove`.
struct UserRemoveCommand: Command {
  static let name = "user remove"
  static let summary = "Delete an account and everything that belongs to it"
  static let parameters = [CommandParameter.configuration, .json, .userName]

  static func run(_ context: CommandContext) async throws {
    let name = try context.userName()
    let details = try await context.withStore { store in
      let details = try await store.details(of: name)
      try await store.remove(name)
      return details
    }
    try context.print(json: details) {}
  }
}

/// `awd push test`.
struct PushTestCommand: Command {
  static let name = "push test"
  static let summary = "Send an account a message from itself, which is pushed to all its devices"
  static let parameters = [CommandParameter.configuration, .json, .userName]

  private struct Report: Encodable {
    let devices: Int
  }

  static func run(_ context: CommandContext) async throws {
    let text = try MessageText("This is a test.")
    let name = try context.userName()
    let (devices, reachesPhones) = try await context.withStore { store in
      (try await store.sendTest(text, to: name), store.pushes.kinds != [.web])
    }
    try context.print(json: Report(devices: devices)) {
      let queued = "queued for \(quantity(devices, "device"))"
      context.print(devices == 0 ? "\(queued): \(reason(name, reachesPhones))" : queued)
    }
  }

  /// Says why a test is pushed to no device, and what to do.
  private static func reason(_ name: UserName, _ reachesPhones: Bool) -> String {
    guard reachesPhones else {
      return "\(name.text.printable) has allowed notifications in no browser, and phones are not "
        + #"pushed to, as [msgr] push is "off"; log in to Msgr's web app and allow notifications"#
    }
    return "\(name.text.printable) has allowed notifications on no device; log in to Msgr on one "
      + "and allow them"
  }
}

extension CommandParameter {
  fileprivate static let userName = CommandParameter.operand("NAME", "the account's name")
  fileprivate static let passwordFile = CommandParameter.option(
    "password-file", value: "FILE", "read the password from a file of one line instead")
}

extension CommandContext {
  /// Returns the account's name, which is the operand.
  fileprivate func userName(isNew: Bool = false) throws(CommandError) -> UserName {
    let text = arguments.operands.first ?? ""
    do throws(FieldError) {
      return isNew
        ? try UserName(ofNewAccount: text, in: .username) : try UserName(text, in: .username)
    } catch { throw .usage("NAME \(error.message)") }
  }

  /// Hashes the password, which is the only line of standard input or of a file.
  fileprivate func newPasswordHash() throws -> PasswordHash {
    let line = try secret("password", from: arguments["password-file"])
    let configuration = try configuration(for: MsgrService.self)
    let password: Password
    do throws(FieldError) {
      password = try FieldValues([.password: line]).newPassword(
        .password, atLeast: configuration.minimumPassword)
    } catch { throw CommandError.refused("the password \(error.message)") }
    return try PasswordHash(of: password.bytes, cost: configuration.passwordCost)
  }

  /// Opens the store that the configuration names, beside a running server or without one.
  fileprivate func openStore() async throws -> MsgrStore {
    let context = try await serviceContext(for: MsgrService.self)
    return MsgrStore(context, try configuration(for: MsgrService.self))
  }

  /// Prints an account that was made or changed, if `--json` is given.
  fileprivate func printDetails(of name: UserName) async throws {
    guard arguments.has("json") else { return }
    try print(json: try await withStore { store in try await store.details(of: name) })
  }

  /// Does something with the store.
  ///
  /// - Parameter refusal: the reason to give if the store forbids it.
  fileprivate func withStore<Value>(
    refusal: String = "there is no such account", _ act: (MsgrStore) async throws -> Value
  ) async throws -> Value {
    do {
      return try await act(try await openStore())
    } catch RequestRefusal.forbidden { throw CommandError.refused(refusal) }
  }
}

/// `awd token new`.
struct TokenNewCommand: Command {
  static let name = "token new"
  static let summary = "Make a token that can only publish, and print it; only a hash is stored"
  static let parameters = [
    CommandParameter.configuration, .json,
    .option("name", value: "NAME", "its name, as in anna/NAME (default: token)"),
    .option("to", value: "NAMES", "the recipients, separated by commas (default: the owner)"),
    .option(
      "topics", value: "TOPICS", "the topics it writes to, or * (default: all, without --to)"),
    .flag("read", "let it read these topics as well"),
    .option("form", value: "FORM", "ntfy or gotify: the form of the token (default: ntfy)"),
    .operand("USER", "the account that owns it"),
  ]

  private struct Summary: Encodable {
    let token: String
    let sender: String
  }

  static func run(_ context: CommandContext) async throws {
    let given = context.arguments
    let owner: UserName
    let new: NewPublisher
    let form: BearerToken.Form
    do throws(FieldError) {
      owner = try UserName(given.operands.first ?? "", in: .username)
      var texts: [FieldID: String] = [.name: given["name"] ?? "token"]
      texts[.to] = given["to"]
      texts[.topics] = given["topics"]
      texts[.form] = given["form"]
      if given.has("read") { texts[.read] = "true" }
      let fields = FieldValues(texts)
      new = try NewPublisher(fields)
      form = try fields.tokenForm()
    } catch { throw CommandError.usage(error.sentence) }
    let service = try await context.serviceContext(for: MsgrService.self)
    let store = MsgrStore(service, try context.configuration(for: MsgrService.self))
    let token = BearerToken(form, randomBytes: service.randomBytes)
    do {
      try await store.addPublisher(new, of: owner, token.hash)
    } catch RequestRefusal.forbidden, RequestRefusal.denied {
      let missing = try await store.namesWithoutAccount(among: [owner] + new.recipients)
      guard missing.isEmpty else {
        let names = missing.map(\.text.printable).joined(separator: ", ")
        throw CommandError.refused("there is no account named \(names)")
      }
      let sender = PublisherToken.sender(owner, new.name).text.printable
      throw CommandError.refused("\(sender) exists already: choose another --name")
    } catch RequestRefusal.tooManyContacts {
      throw CommandError.refused("the owner has as many tokens as an account may have")
    }
    try await context.print(
      secret: Summary(token: token.text, sender: PublisherToken.sender(owner, new.name).text)
    ) {
      context.print(token.text)
    } takeBack: {
      _ = try await store.removePublisher(new.name, of: owner)
    }
  }
}
