internal import ApptimistResources
internal import ApptimistProtocol
internal import Cryptography
internal import FoundationEssentials
internal import HTTPClient
internal import ServiceKit
internal import Platform
internal import WalletClient

/// Carries out the lines that are typed, and shows the messages that come.
actor ChatSession {
  private let device: Device
  private let folder: ChatFolder
  private let print: @Sendable (String) -> Void
  private var partner: DeviceUser?
  private var names: [EncryptionPublicKey: String] = [:]
  /// Whom the user allows and blocks; nothing is shown before it was read once.
  private var people: PrivateFile
  private var isRead = false
  /// The authors of the messages that were shown, who may take them back.
  private var authors: [MessageID: EncryptionPublicKey] = [:]
  private let installation: Version2.DeviceID
  /// The identifier of the copies of what this device has sent.
  private let copyID: String
  /// Waits for a new device to open the link, and the one that has.
  private var linking: Task<Void, Never>?
  private var asking: (link: DeviceLink, device: EncryptionPublicKey)?

  init(
    _ device: Device, _ folder: ChatFolder, at place: StreamPlace,
    print: @escaping @Sendable (String) -> Void
  ) throws {
    self.device = device
    self.folder = folder
    installation = place.installation
    self.print = { print($0.printable) }
    copyID = String(installation.hex.prefix(16))
    people = try folder.people()
  }

  /// Remembers that the service has made the account.
  nonisolated func accountMade(_ place: StreamPlace) throws { try folder.keep(place) }

  // MARK: - Messages

  /// Shows an entry of the stream, and remembers that it was shown.
  func show(_ entry: WalletClient.StreamEntry) async throws {
    switch entry {
    case .message(let message): await show(message)
    case .gap: print("* the service has dropped messages that you never got")
    case .truncation: break
    }
    try folder.keep(entry.place)
    await device.stored(entry.place)
  }

  private func show(_ message: DeviceMessage) async {
    if !isRead { await refresh() }
    let from = message.from
    let to = message.to
    guard people.state(of: from) != "blocked", people.state(of: to) != "left" else {
      return await truncate(message.id)
    }
    do throws(DeviceError) {
      let forum = people.secret(of: to)
      let opened = try await device.open(message, forum: forum, takesDoubtful: true)
      guard let content = MessageContent(opened.data) else { throw .doesNotOpen }
      await show(content, of: message, opened.protection)
    } catch {
      let isSealed = error == .doesNotOpen
      await say(isSealed ? "(a message that can't be read here)" : "(\(error))", by: from)
    }
  }

  private func show(
    _ content: MessageContent, of message: DeviceMessage, _ protection: MessageProtection
  ) async {
    let from = message.from
    let to = message.to
    if from == device.user, to == device.user {
      if content.changed != nil { await refresh() }
      // What went to a forum comes from there, too.
      if let sent = content.sent, content.id != copyID, people.state(of: sent.to) != "joined" {
        let content = MessageContent(Array(sent.content.utf8))
        await say(content.flatMap(Self.words), by: from, to: sent.to)
      }
    } else if let post = content.published, to != device.user {
      guard people.state(of: post.from) != "blocked",
        (try? await device.isByModerator(message)) == true,
        (try? await device.isSigned(post, in: to)) == true
      else { return }
      let content = MessageContent(Array(post.content.utf8))
      return await say(content.flatMap(Self.words), by: post.from)
    }
    if let id = content.takenBack, [.sealed, .signed].contains(protection) {
      await truncate(message.id)
      if authors[id] == from { await truncate(id) }
      return await say("(has taken a message back)", by: from)
    }
    guard let text = Self.words(for: content) else { return }
    authors[message.id] = from
    switch protection {
    case .sealed, .signed: await say(text, by: from)
    case .version1: await say("(in version 1's box) \(text)", by: from)
    case .unsigned: await say("(signed by nobody) \(text)", by: from)
    case .doubtful: await say("(perhaps forged) \(text)", by: from)
    }
  }

  /// Returns what a terminal shows of a content, or nil if it shows nothing.
  private static func words(for content: MessageContent) -> String? {
    if let reaction = content.reaction {
      return reaction.emoji.isEmpty ? "(takes a reaction back)" : "(reacts with \(reaction.emoji))"
    }
    if let edit = content.edit { return "(edits a message) \(edit.text)" }
    var parts: [String] = []
    if let reply = content.reply { parts.append("(in reply to “\(reply.text)”)") }
    if let text = content.text { parts.append(text) }
    if let file = content.file { parts.append("(with the file \(file.name), \(file.size) bytes)") }
    if let forum = content.invitation { parts.append("(with an invitation to \(forum.name))") }
    return parts.isEmpty ? nil : parts.joined(separator: " ")
  }

  private func say(
    _ text: String?, by author: EncryptionPublicKey, to other: EncryptionPublicKey? = nil
  ) async {
    var name = await name(of: author)
    if let other { name += " to \(await self.name(of: other))" }
    for line in text?.split(separator: "\n", omittingEmptySubsequences: false) ?? [] {
      print("\(name)> \(line)")
    }
  }

  /// Returns a user's name, followed by a part of the key unless it is the partner, as anyone can take any name.
  private func name(of key: EncryptionPublicKey) async -> String {
    if names[key] == nil { names[key] = (try? await device.user(key))?.name }
    let name = names[key] ?? "?"
    if key == partner?.key || key == device.user { return name }
    return "\(name) (\(key.hex.prefix(16))…\(people.state(of: key) == nil ? ", a request" : ""))"
  }

  private func truncate(_ message: MessageID) async { try? await device.truncate(message) }

  // MARK: - People

  /// Brings together what is here and at the service of whom the user allows and blocks.
  func refresh() async {
    isRead = true
    if people.entry("devices", installation).isEmpty {
      people.change("devices", installation, ["name": .text("awd wallet chat")], at: now)
    }
    do {
      let theirs = try await device.privateFile()
      let merged = people.merged(with: theirs)
      let written = merged == theirs ? theirs : try await device.write(merged)
      people = people.merged(with: written)
      try folder.keep(people)
    } catch { if !Task.isCancelled { print("* devices may differ in whom you allow: \(error)") } }
  }

  private func change(_ user: DeviceUser, _ members: PrivateFile.Entry) async {
    var entry = members
    entry["name"] = .text(user.name)
    // A key that has changed is another device's, too, only once it was accepted.
    if !user.hasChangedKey {
      entry["authentication"] = user.authenticationKey.map { .text($0.hex) }
    }
    people.change("people", user.key, entry, at: now)
    await refresh()
    print("* \(user.name) is \(people.state(of: user.key) ?? "?")")
  }

  private var now: Double { (Date().timeIntervalSince1970 * 1_000).rounded() }

  /// Shows the number that the user and the partner compare, once the user has said whether it is the same.
  private func verify(_ answer: String) async throws {
    let partner = try await find("")
    guard let key = partner.authenticationKey, let number = device.safetyNumber(with: partner)
    else { throw ChatError(description: "this service knows no keys of signatures") }
    if ["yes", "no"].contains(answer) {
      if answer == "yes" { await device.accept(key, of: partner.key) }
      let members: PrivateFile.Entry = ["verified": .truth(answer == "yes")]
      await change(try await find(""), members.merging(["state": .text("allowed")]) { $1 })
    }
    let isVerified = people.isVerified(partner.key, key)
    print("* \(number.text)")
    print(
      "* \(isVerified ? "verified" : "not verified: /verify yes, if \(partner.name) sees the same")"
    )
  }

  // MARK: - Other devices

  private func beginLink() throws {
    let link = DeviceLink(at: device.url)
    let client = try WebClient()
    print("* a linked device has your account for good: link only yours; its digits are a secret")
    print("* open this there, or start it with --link")
    print("* \(link.code)")
    linking?.cancel()
    asking = nil
    linking = Task {
      let part = try? await link.wait(for: .request, by: client)
      guard let (device, name) = part.flatMap(link.device) else {
        return print("* a link is over: nobody has opened it, or somebody without its code")
      }
      asking = (link, device)
      print("* “\(name)” wants to be linked: /link and the six digits that it shows")
    }
  }

  /// Gives the account to the new device, if these are its digits.
  private func answer(_ digits: String) async throws {
    guard let (link, key) = asking, !link.isOver else {
      throw ChatError(description: "nothing is to be linked")
    }
    asking = nil
    let account = try await device.secrets()
    guard digits == link.digits(of: key), let part = link.answer(account, to: key) else {
      throw ChatError(description: "the digits are wrong, and this link is over: /link again")
    }
    try await link.put(part, as: .answer, by: WebClient())
    print("* linked")
  }

  /// Writes the account and its people to a new file.
  private func export(to file: String) async throws {
    let passphrase = AccountExport.makePassphrase()
    let export = AccountExport(try await device.secrets(), people: people)
    guard let sealed = export.sealed(by: passphrase),
      try DurableFile.createOnce(file, sealed, mode: 0o600)
    else { throw ChatError(description: "\(file) is there already: name another file") }
    print("* written, without messages, as none are kept here; it opens with \(passphrase)")
  }

  // MARK: - Typed lines

  /// Carries out a line.
  ///
  /// - Returns: false if the chat ends.
  func perform(_ line: String) async -> Bool {
    do {
      guard line.hasPrefix("/"), !line.hasPrefix("//") else {
        if !line.isEmpty { try await send(line.hasPrefix("/") ? String(line.dropFirst()) : line) }
        return true
      }
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      let rest = words.count == 2 ? words[1] : ""
      switch words[0] {
      case "/quit": return false
      case "/me": print("* \(device.user.hex)")
      case "/to": try await turn(to: rest)
      case "/search": list(try await device.search(name: rest, limit: 20))
      case "/who": try await printUser(try await find(rest))
      case "/vouch": try await vouch(for: try await find(rest))
      case "/allow": await change(try await find(rest), ["state": .text("allowed")])
      case "/block": await change(try await find(rest), ["state": .text("blocked")])
      case "/verify": try await verify(rest)
      case "/export" where !rest.isEmpty: try await export(to: rest)
      case "/link": try await rest.isEmpty ? beginLink() : answer(rest)
      default:
        let help = String(decoding: Resource(apptimist_chat_txt()).bytes, as: UTF8.self)
        for line in help.split(separator: "\n") { print(String(line)) }
      }
    } catch { print("* \(error)") }
    return true
  }

  private func send(_ text: String) async throws {
    guard text.utf8.count <= MessageContent.textLimit else {
      throw ChatError(
        description: "not sent: a message has at most \(MessageContent.textLimit) bytes")
    }
    let partner = try await find("")
    guard !partner.hasChangedKey else {
      throw ChatError(description: "not sent: \(changed(partner))")
    }
    // Writing first allows.
    if partner.kind != .forum, people.state(of: partner.key) != "allowed" {
      await change(partner, ["state": .text("allowed")])
    }
    do {
      let content = MessageContent(text: text).data
      let message = try await device.seal(content, to: partner.key)
      try await device.send(message)
      if message.protection == .version1 { print("* sent in version 1's box, which protects less") }
      var copy = MessageContent(id: copyID)
      copy.sent = MessageContent.Sent(message, content: content)
      try await device.send(try await device.seal(copy.data, to: device.user))
    } catch { throw ChatError(description: "not sent: \(error)") }
  }

  private func changed(_ user: DeviceUser) -> String {
    "the key of \(user.name) has changed: compare the number, then /verify yes"
  }

  /// Makes another user the partner.
  func turn(to whom: String) async throws {
    let user = try await find(whom)
    (partner, names[user.key]) = (user, user.name)
    print("* you talk to \(user.name), \(user.key.hex)")
    if user.hasChangedKey { throw ChatError(description: changed(user)) }
  }

  /// Makes another user the partner, as soon as there is one with this name or key.
  func waitFor(_ whom: String) async {
    var pause = Duration.milliseconds(250)
    var isTold = false
    while !Task.isCancelled {
      do throws(DeviceError) {
        guard try await users(called: whom).isEmpty else { break }
        if !isTold { print("* nobody has this name or key yet; waiting for \(whom)") }
        isTold = true
      } catch { guard error == .timedOut else { break } }
      try? await Task.sleep(for: pause)
      pause = min(pause * 2, .seconds(5))
    }
    _ = await perform("/to \(whom)")
  }

  private func list(_ users: [DeviceUser]) {
    if users.isEmpty { print("* nobody") }
    for user in users { print("* \(user.key.hex) \(user.name)") }
  }

  private func printUser(_ user: DeviceUser) async throws {
    let vouchers = try await device.vouchers(of: user.key)
    print("* \(user.key.hex) \(user.name), vouchers: \(vouchers.count)")
    for voucher in vouchers.prefix(20) {
      let name = try await device.user(voucher.user)?.name ?? "?"
      let proof = voucher.evidence == .forged ? " (forged)" : ""
      print("*   \(voucher.user.hex) \(name)\(proof)")
    }
  }

  private func vouch(for user: DeviceUser) async throws {
    try await device.vouch(for: user.key)
    print("* you vouch for \(user.name), \(user.key.hex)")
  }

  private func users(called whom: String) async throws(DeviceError) -> [DeviceUser] {
    if let key = EncryptionPublicKey(hex: whom) {
      return try await device.user(key).map { [$0] } ?? []
    }
    return try await device.search(name: whom, limit: 20)
      .filter { $0.name.lowercased() == whom.lowercased() }
  }

  /// Finds the only user with a key or a name; of no name it is the partner.
  private func find(_ whom: String) async throws -> DeviceUser {
    // Its key may have changed since.
    if whom.isEmpty, let partner { return (try? await device.user(partner.key)) ?? partner }
    guard !whom.isEmpty else { throw ChatError(description: "to whom? /to NAME") }
    let users = try await users(called: whom)
    if users.count == 1 { return users[0] }
    if users.isEmpty { throw ChatError(description: "nobody has this name or key") }
    list(users)
    throw ChatError(description: "several have this name: use the key")
  }
}
