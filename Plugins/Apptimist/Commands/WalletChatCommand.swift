internal import ApptimistProtocol
internal import Cryptography
internal import FoundationEssentials
internal import Glibc
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
    let kept = try folder.place()
    let place = kept ?? StreamPlace()
    let account = try account(arguments, isNew: kept == nil)
    let pin = try await pin(of: url, pinnedBy: arguments["identity"], folder, print)
    let existing = try folder.keys()
    let keys = existing ?? .generate()
    if existing == nil {
      try folder.keep(keys)
      print("* made your keys: keep \(path)/keys, it is your account".printable)
    }
    let established = AsyncStream.makeStream(of: Void.self)
    let device = try Device(
      keys: keys, service: pin, url: url, account: account, place: place,
      known: try folder.known(),
      onState: { state in
        print(state == .established ? "* connected" : "* connection lost, trying again")
        if state == .established { established.continuation.yield() }
      },
      onLearned: { account in
        do { try folder.keep(account) } catch { print("* \(error)".printable) }
      })
    let chat = try ChatSession(device, folder, at: place, print: print)
    try await talk(
      chat, device, whenEstablished: established.stream, madeAt: kept == nil ? place : nil,
      with: arguments["with"])
  }

  /// Runs the device, the stream and the keyboard side by side until one of them ends.
  private static func talk(
    _ chat: ChatSession, _ device: Device, whenEstablished established: AsyncStream<Void>,
    madeAt place: StreamPlace?, with partner: String?
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await run(device, isNew: place != nil) }
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
        try place.map(chat.accountMade)
        if let partner { await chat.waitFor(partner) }
        for await line in try lines() { guard await chat.perform(line) else { return } }
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
    try folder.keep(StreamPlace())
    // Last, as the account is there with them.
    try folder.keep(keys)
    return url
  }

  /// Returns the account to make at the first use.
  private static func account(
    _ arguments: CommandArguments, isNew: Bool
  ) throws(CommandError) -> WalletClient.NewAccount? {
    guard isNew else { return nil }
    guard let name = arguments["name"] else {
      throw .usage("--name is missing: there is no account in the folder yet")
    }
    let account = WalletClient.NewAccount(
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

/// The files of `awd wallet chat`: the user's keys, the service's keys, the place in the stream, and what is remembered of
/// others. Only their owner can read them.
struct ChatFolder: Sendable {
  private let path: String

  /// Uses a folder, which is made with the first file.
  init(_ path: String) { self.path = path }

  /// Writes the user's keys.
  func keep(_ keys: DeviceKeys) throws(ChatError) {
    var text: [UInt8] = []
    defer { wipe(&text) }
    // An array that grows would leave copies in memory.
    text.reserveCapacity(128)
    keys.encryption.withSecret { text += $0 }
    keys.authentication.withSeed { text += $0 }
    try write(text, to: "keys")
  }

  /// Reads the user's keys, or returns nil if there are none.
  func keys() throws(ChatError) -> DeviceKeys? {
    guard var bytes = try read("keys") else { return nil }
    defer { wipe(&bytes) }
    guard bytes.count == 64 else { throw malformed("keys") }
    var secret = Array(bytes[..<32])
    var seed = Array(bytes[32...])
    defer {
      wipe(&secret)
      wipe(&seed)
    }
    guard let encryption = EncryptionKeyPair(secret: secret),
      let authentication = AuthenticationKeyPair(seed: seed)
    else { throw malformed("keys") }
    return DeviceKeys(encryption: encryption, authentication: authentication)
  }

  /// Reads the service that was used before, or returns nil at the first use.
  func pin() throws(ChatError) -> ServicePin? {
    guard let json = try read("service.json") else { return nil }
    do throws(ServiceDocumentError) {
      return ServicePin(try ServiceDocument(json: json))
    } catch { throw malformed("service.json") }
  }

  /// Writes the service's keys, and its signed versions.
  func keep(_ document: ServiceDocument) throws {
    try write(try document.json(), to: "service.json")
  }

  /// Reads the place up to which messages were shown, or returns nil without an account.
  func place() throws(ChatError) -> StreamPlace? {
    if let text = try text(of: "place") {
      guard let place = StreamPlace(text: text) else { throw malformed("place") }
      return place
    }
    // Earlier versions of the program kept the last message.
    guard let text = try text(of: "head") else { return nil }
    guard let head = MessageID(hex: text) else { throw malformed("head") }
    return StreamPlace(head: head)
  }

  /// Writes the place up to which messages were shown.
  func keep(_ place: StreamPlace) throws(ChatError) {
    try write(Array(place.text.utf8), to: "place")
  }

  /// Reads the remembered facts about others.
  func known() throws(ChatError) -> [WalletClient.KnownAccount] {
    let lines = try text(of: "known")?.split(separator: "\n") ?? []
    let accounts = lines.compactMap { WalletClient.KnownAccount(text: String($0)) }
    guard accounts.count == lines.count else { throw malformed("known") }
    return accounts
  }

  /// Writes the remembered facts about another; of too many the oldest are forgotten.
  func keep(_ account: WalletClient.KnownAccount) throws(ChatError) {
    let others = try known().filter { $0.key != account.key }.suffix(Self.mostKnown - 1)
    try write(Array((others + [account]).map { $0.text + "\n" }.joined().utf8), to: "known")
  }

  private static let mostKnown = 5_000

  /// Reads whom the user allows and blocks.
  func people() throws(ChatError) -> PrivateFile {
    guard let json = try read("people") else { return PrivateFile() }
    guard let people = JSONValue.decode(PrivateFile.self, json) else { throw malformed("people") }
    return people
  }

  /// Writes whom the user allows and blocks.
  func keep(_ people: PrivateFile) throws(ChatError) {
    try write(JSONValue.encode(people), to: "people")
  }

  private func text(of name: String) throws(ChatError) -> String? {
    try read(name).map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: - Files

  /// Reads a file.
  ///
  /// - Returns: the content, at most 1 MiB, or nil if there is no file.
  private func read(_ name: String) throws(ChatError) -> [UInt8]? {
    let file = unsafe open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure(name, SystemError(errno))
    }
    defer { close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw failure(name, SystemError(errno)) }
    guard name != "keys" || status.st_mode & 0o077 == 0 else {
      throw failure(name, "others may read it; chmod 600 it")
    }
    var content = [UInt8](repeating: 0, count: min(1 << 20, max(0, Int(status.st_size))))
    let count = unsafe content.withUnsafeMutableBytes {
      unsafe Glibc.read(file, $0.baseAddress, $0.count)
    }
    guard count == content.count else { throw failure(name, SystemError(errno)) }
    return content
  }

  /// Replaces a file atomically and durably.
  private func write(_ content: [UInt8], to name: String) throws(ChatError) {
    do throws(SystemError) {
      try DurableFile.makeFolder(path)
      try DurableFile.replace("\(path)/\(name)", content, mode: 0o600)
    } catch { throw failure(name, error) }
  }

  private func malformed(_ name: String) -> ChatError { failure(name, "the file is malformed") }

  private func failure(_ name: String, _ problem: some CustomStringConvertible) -> ChatError {
    ChatError(description: "\(path)/\(name): \(problem)")
  }
}

/// The reason why the chat can't do something.
struct ChatError: Error, CustomStringConvertible {
  let description: String
}
