internal import ApptimistProtocol
internal import Cryptography
internal import HTTPClient
internal import ServiceKit
internal import Threading
internal import WalletClient

/// `awd wallet chat`: talks to another user through an Apptimist service, end-to-end encrypted.
struct WalletChatCommand: Command {
  static let name = "wallet chat"
  static let summary =
    "Talk to another user through an Apptimist service, a line a message; /help tells more"
  static let parameters: [CommandParameter] = [
    .option("server", value: "URL", "the service; ws://127.0.0.1:8080/siren if not given"),
    .option(
      "name", value: "NAME", "the name that others find you by; makes the account at the first use"),
    .option("with", value: "WHOM", "whom to talk to: a name, or 64 hexadecimal digits"),
    .option(
      "folder", value: "DIR",
      "your keys and what has been read; ~/.local/state/awd-chat if not given"),
    .option(
      "identity", value: "KEY",
      "the service's encryption key, as `awd keys show` prints it; else the first answer is believed"
    ),
    .option("uid", value: "UID", "who you are at the service's identity provider"),
    .option("token", value: "TOKEN", "what proves it, such as an invitation"),
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    guard let url = WebSocketURL(arguments["server"] ?? "ws://127.0.0.1:8080/siren") else {
      throw CommandError.usage("--server: expected a URL such as ws://127.0.0.1:8080/siren")
    }
    guard
      let path = arguments["folder"]
        ?? context.environment["HOME"].map({ "\($0)/.local/state/awd-chat" })
    else { throw CommandError.usage("--folder is missing, and so is HOME") }
    let print = context.print
    let folder = ChatFolder(path)
    let head = try folder.head()
    let account = try account(arguments, isNew: head == nil)
    let identity = try await identity(of: url, pinnedBy: arguments["identity"], folder, print)
    let (keys, isNew) = try folder.keys()
    if isNew { print("* made your keys: keep \(path)/keys, it is your account".printable) }
    let established = AsyncStream.makeStream(of: Void.self)
    let device = try Device(
      keys: keys, service: identity, url: url, account: account, head: head,
      onState: { state in
        print(state == .established ? "* connected" : "* connection lost, trying again")
        if state == .established { established.continuation.yield() }
      })
    let chat = ChatSession(device: device, folder: folder, print: print)
    try await talk(
      chat, device, whenEstablished: established.stream, isNew: head == nil, with: arguments["with"]
    )
  }

  /// Runs the device, the stream and the keyboard side by side until one of them ends.
  private static func talk(
    _ chat: ChatSession, _ device: Device, whenEstablished established: AsyncStream<Void>,
    isNew: Bool, with partner: String?
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        do throws(DeviceError) {
          try await device.run()
        } catch {
          if error != .cancelled { throw CommandError.refused("\(error)") }
        }
      }
      group.addTask {
        for await entry in device.entries { try await chat.show(entry) }
        // The device has more to say of why it ended.
        try await Task.sleep(for: .seconds(10))
      }
      group.addTask {
        for await _ in established { break }
        if isNew { try chat.accountMade() }
        if let partner { await chat.turn(to: partner) }
        for await line in try lines() {
          guard await chat.take(line) else { return }
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Reads standard input on a thread of its own, as reading blocks.
  ///
  /// - Returns: the lines as they are typed.
  private static func lines() throws -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    _ = try WorkerThread(named: "awd-keyboard") {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return stream
  }

  /// The account to be made at the first use.
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
      throw .usage("--name, --uid, --token: at most 255 bytes each, without control characters")
    }
    return account
  }

  /// The service's keys: those that the folder has, or what the service shows at the first use.
  private static func identity(
    of url: WebSocketURL, pinnedBy key: String?, _ folder: ChatFolder,
    _ print: (String) -> Void
  ) async throws -> ServiceIdentity {
    let pinned = try folder.identity()
    let identity: ServiceIdentity
    if let pinned {
      identity = pinned
    } else {
      identity = try await ServiceIdentity.fetch(from: url, client: try HTTPClient())
    }
    if let key, EncryptionPublicKey(hex: key) != identity.encryptionKey {
      throw CommandError.refused(
        "the service has another key than --identity says: \(identity.encryptionKey.hex)")
    }
    guard pinned == nil else { return identity }
    try folder.keep(identity)
    if key == nil {
      print("* the service's key is believed from now on: \(identity.encryptionKey.hex)")
      print("* compare it with what its operator says, or start with --identity KEY")
    }
    return identity
  }
}
