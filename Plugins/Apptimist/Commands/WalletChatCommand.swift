internal import ApptimistProtocol
internal import Cryptography
internal import FoundationEssentials
internal import HTTPClient
internal import Platform
internal import ServiceKit
internal import WalletClient

/// `awd wallet chat`: exchanges end-to-end encrypted messages with another user of an Apptimist service.
struct WalletChatCommand: Command {
  static let name = "wallet chat"
  static let summary =
    "Talk to another user of an Apptimist service, one message a line; /help explains more"
  static let parameters: [CommandParameter] = [
    .option("server", value: "URL", "the service; ws://127.0.0.1:8080/siren by default"),
    .option("name", value: "NAME", "your name, which a new account has to have"),
    .option("with", value: "WHOM", "whom to talk to: a name, or a key of 64 hexadecimal digits"),
    .option("folder", value: "DIR", "your keys and state; ~/.local/state/awd-chat by default"),
    .option("identity", value: "KEY", "the service's key; by default that of the first use"),
    .option("uid", value: "UID", "your user ID at the service's identity provider"),
    .option("token", value: "TOKEN", "the proof of it, such as an invitation"),
    .option("link", value: "CODE", "the address that your other device shows: takes its account"),
    .option("import", value: "FILE", "an export: takes its account, and asks for the passphrase"),
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    guard var url = WebSocketURL(arguments["server"] ?? "ws://127.0.0.1:8080/siren") else {
      throw CommandError.usage("--server: expected a URL such as ws://127.0.0.1:8080/siren")
    }
    guard
      let path = arguments["folder"]
        ?? context.environment["HOME"].map({ "\($0)/.local/state/awd-chat" })
    else { throw CommandError.usage("--folder is missing, and so is HOME") }
    let print = context.print
    let folder = ChatFolder(path)
    if arguments["link"] ?? arguments["import"] != nil {
      url = try await receiveAccount(context, folder)
    }
    let kept = try folder.cursor()
    let cursor = kept ?? DeviceCursor()
    let account = try account(arguments, isNew: kept == nil)
    let pin = try await pin(of: url, pinnedBy: arguments["identity"], folder, print)
    let existing = try folder.keys()
    let keys = existing ?? .generate()
    if existing == nil {
      try folder.keep(keys)
      print("* made your keys: keep \(path)/keys, it is your account".printable)
    }
    let input = ChatInput(print)
    defer { input.close() }
    let show: @Sendable (String) -> Void = { input.show($0) }
    let established = AsyncStream.makeStream(of: Void.self)
    let device = try Device(
      keys: keys, service: pin, url: url, account: account, cursor: cursor,
      known: try folder.known(),
      onState: { state in
        show(state == .established ? "* connected" : "* connection lost, trying again")
        if state == .established { established.continuation.yield() }
      },
      onLearned: { account in
        do { try folder.keep(account) } catch { show("* \(error)".printable) }
      })
    let chat = try ChatSession(device, folder, at: cursor, print: show)
    try await talk(
      chat, device, whenEstablished: established.stream, madeAt: kept == nil ? cursor : nil,
      with: arguments["with"], input)
  }

  /// Runs the device, the stream and the keyboard side by side until one of them ends.
  private static func talk(
    _ chat: ChatSession, _ device: Device, whenEstablished established: AsyncStream<Void>,
    madeAt cursor: DeviceCursor?, with partner: String?, _ input: ChatInput
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await run(device, isNew: cursor != nil) }
      group.addTask {
        for await entry in device.entries { try await chat.show(entry) }
        // The device's own error says why the stream ended.
        try await Task.sleep(for: .seconds(10))
      }
      let first = AsyncStream.makeStream(of: Void.self)
      group.addTask {
        for await _ in established {
          first.continuation.yield()
          await chat.refresh()
        }
      }
      group.addTask {
        for await _ in first.stream { break }
        try cursor.map(chat.accountMade)
        if let partner { await chat.waitFor(partner) }
        // When the input ends, all lines were carried out, and what they say was sent.
        for await line in input.lines {
          guard await chat.perform(line) else { return }
          input.performed()
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Runs the device until it is refused or cancelled.
  private static func run(_ device: Device, isNew: Bool) async throws {
    do {
      try await device.run()
    } catch DeviceError.cancelled {
      return
    } catch {
      let hint = "; an invitation counts once, for its --uid, until it expires"
      throw CommandError.refused("\(error)\(isNew && error == .refused ? hint : "")")
    }
  }

  /// Asks another device for the user's account.
  private static func link(_ context: CommandContext) async throws -> AccountSecrets {
    guard let link = context.arguments["link"].flatMap({ DeviceLink($0) }) else {
      throw CommandError.usage("--link: expected the address that your other device shows")
    }
    let client = try WebClient()
    let pair = EncryptionKeyPair.generate()
    try await link.put(link.request(from: pair, name: "awd wallet chat"), as: .request, by: client)
    context.print("* type these digits at your other device: \(link.digits(of: pair.publicKey))")
    guard let part = try? await link.wait(for: .answer, by: client),
      let account = link.account(in: part, for: pair)
    else { throw CommandError.refused("there was no answer for this device: begin again there") }
    return account
  }

  /// Opens an export by the passphrase that is typed.
  private static func open(_ file: String) throws -> AccountExport {
    let content = [UInt8](try Data(contentsOf: URL(filePath: file)))
    let passphrase = Terminal.hiddenLine(prompt: "passphrase: ") ?? ""
    guard let export = AccountExport(opening: content, by: passphrase) else {
      throw CommandError.refused("\(file) has another passphrase, or is no export")
    }
    return export
  }

  /// Takes the account of another device or of an export into an empty folder.
  ///
  /// - Returns: the service's address.
  private static func receiveAccount(
    _ context: CommandContext, _ folder: ChatFolder
  ) async throws -> WebSocketURL {
    guard try folder.keys() == nil else {
      throw CommandError.refused("the folder has an account already: name another by --folder")
    }
    let export = try context.arguments["import"].map(open)
    let account: AccountSecrets
    if let export { account = export.account } else { account = try await link(context) }
    guard let url = WebSocketURL(account.service.url) else {
      throw CommandError.refused("the account names no service: \(account.service.url)")
    }
    let document = try await ServicePin.document(from: url, client: WebClient())
    guard let keys = account.keys(at: document.identity) else {
      throw CommandError.refused("\(url) has other keys than the service of the account")
    }
    try folder.keep(document)
    try folder.keep(export?.people ?? PrivateFile())
    try folder.keep(DeviceCursor())
    // Last, as the account is there with them.
    try folder.keep(keys)
    return url
  }

  /// Returns the account to make at the first use.
  private static func account(
    _ arguments: CommandArguments, isNew: Bool
  ) throws(CommandError) -> NewAccount? {
    guard isNew else { return nil }
    guard let name = arguments["name"] else {
      throw .usage("--name is missing: there is no account in the folder yet")
    }
    let account = NewAccount(
      name: name, uid: arguments["uid"] ?? "", token: arguments["token"] ?? "")
    guard let account else {
      throw .usage(
        "--name, --uid: at most 255 bytes each, without control characters; --token: at most 8192")
    }
    return account
  }

  /// Returns the service: that of the folder, or at the first use what the service shows. Once it has signed that it
  /// speaks version 2, no other is spoken.
  private static func pin(
    of url: WebSocketURL, pinnedBy key: String?, _ folder: ChatFolder,
    _ print: (String) -> Void
  ) async throws -> ServicePin {
    let pinned = try folder.pin()
    if let pinned, pinned.versions == .version2 { return try check(pinned, against: key) }
    let document: ServiceDocument
    do {
      document = try await ServicePin.document(from: url, client: try WebClient())
    } catch {
      guard let pinned else { throw error }
      return try check(pinned, against: key)
    }
    if let pinned, pinned.identity != document.identity { return try check(pinned, against: key) }
    let pin = try check(ServicePin(document), against: key)
    try folder.keep(document)
    if key == nil, pinned == nil {
      print("* the service's key is believed from now on: \(pin.identity.encryptionKey.hex)")
      print("* compare it with what its operator says, or start with --identity KEY")
    }
    return pin
  }

  private static func check(
    _ pin: ServicePin, against key: String?
  ) throws(CommandError) -> ServicePin {
    let identity = pin.identity
    if let key, EncryptionPublicKey(hex: key) != identity.encryptionKey {
      throw .refused(
        "the service has another key than --identity says: \(identity.encryptionKey.hex)")
    }
    return pin
  }
}
