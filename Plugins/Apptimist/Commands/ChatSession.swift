internal import ApptimistProtocol
internal import Cryptography
internal import Formats
internal import FoundationEssentials
internal import HTTPClient
internal import Platform
internal import ServiceKit
internal import WalletClient

/// Carries out the lines that are typed, and shows the messages that come.
actor ChatSession {
  let device: Device
  let folder: ChatFolder
  let print: @Sendable (String) -> Void
  var partner: DeviceUser?
  var names: [EncryptionPublicKey: String] = [:]
  /// The people whom the user allows and blocks; nothing is shown before it was read once.
  var people: PrivateFile
  var isRead = false
  var transcript = ChatTranscript()
  let installation: Version2.DeviceID
  /// The identifier of the copies of what this device has sent.
  let copyID: String
  /// Waits for a new device to open the link, and the one that has.
  var linking: Task<Void, Never>?
  var asking: (link: DeviceLink, device: EncryptionPublicKey)?

  init(
    _ device: Device, _ folder: ChatFolder, at cursor: DeviceCursor,
    print: @escaping @Sendable (String) -> Void
  ) throws {
    self.device = device
    self.folder = folder
    installation = cursor.installation
    self.print = { print($0.printable) }
    copyID = String(installation.hex.prefix(16))
    people = try folder.people()
  }

  /// Remembers that the service has made the account.
  nonisolated func accountMade(_ cursor: DeviceCursor) throws { try folder.keep(cursor) }

  // MARK: - Messages

  /// Shows an entry of the stream, and remembers that it was shown.
  func show(_ entry: DeviceEntry) async throws {
    switch entry {
    case .message(let message): await show(message)
    case .gap: print("* the service has dropped messages that you never got")
    case .truncation(let id, _): transcript.forget(id)
    }
    try folder.keep(entry.cursor)
    await device.stored(entry.cursor)
  }

  func show(_ message: DeviceMessage) async {
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

  func show(
    _ content: MessageContent, of message: DeviceMessage, _ protection: MessageProtection
  ) async {
    let from = message.from
    let to = message.to
    if from == device.user, to == device.user {
      if content.changed != nil { await refresh() }
      // What went to a forum comes from there, too.
      if let sent = content.sent, content.id != copyID, people.state(of: sent.to) != "joined" {
        await showSent(sent, copy: message.id)
      }
    } else if let post = content.published, to != device.user {
      guard people.state(of: post.from) != "blocked",
        (try? await device.isByModerator(message)) == true,
        (try? await device.isSigned(post, in: to)) == true,
        let text = MessageContent(Array(post.content.utf8)).flatMap(Self.words)
      else { return }
      transcript.add(
        message.sentID, in: to, by: post.from, at: post.time, text, copies: [message.id])
      return await say(text, by: post.from)
    }
    let chat = to == device.user ? from : to
    let isBelieved = protection == .sealed || protection == .signed
    if let id = content.takenBack, isBelieved {
      let copies = transcript.takeBack(id, by: from, in: chat)?.copies ?? []
      for copy in copies + [message.id] { await truncate(copy) }
      return await say("(has taken a message back)", by: from)
    }
    if isBelieved, let words = amendment(content, by: from, in: chat, at: message.time) {
      return await say(words, by: from)
    }
    guard let text = Self.words(for: content) else { return }
    transcript.add(
      message.sentID, in: chat, by: from, at: message.time, text, copies: [message.id])
    switch protection {
    case .sealed, .signed: await say(text, by: from)
    case .version1: await say("(in version 1's box) \(text)", by: from)
    case .unsigned: await say("(signed by nobody) \(text)", by: from)
    case .doubtful: await say("(perhaps forged) \(text)", by: from)
    }
  }

  /// Shows what another device of the user has sent.
  func showSent(_ sent: MessageContent.Sent, copy: MessageID) async {
    guard let content = MessageContent(Array(sent.content.utf8)) else { return }
    let user = device.user
    if let id = content.takenBack {
      _ = transcript.takeBack(id, by: user, in: sent.to)
      return await say("(has taken a message back)", by: user, to: sent.to)
    }
    if let words = amendment(content, by: user, in: sent.to, at: sent.time) {
      return await say(words, by: user, to: sent.to)
    }
    guard let text = Self.words(for: content) else { return }
    transcript.add(sent.messageID, in: sent.to, by: user, at: sent.time, text, copies: [copy])
    await say(text, by: user, to: sent.to)
  }

  /// Applies a reaction or an edit.
  ///
  /// - Returns: what is shown of it; nil if the content is neither.
  func amendment(
    _ content: MessageContent, by author: EncryptionPublicKey, in chat: EncryptionPublicKey,
    at time: UInt64
  ) -> String? {
    if let reaction = content.reaction {
      let message = transcript[reaction.to]
      let subject = message?.chat == chat ? message?.quote : nil
      let words = subject ?? "an earlier message"
      return reaction.emoji.isEmpty
        ? "(takes the reaction to \(words) back)" : "(reacts with \(reaction.emoji) to \(words))"
    }
    guard let edit = content.edit else { return nil }
    if transcript[edit.of] == nil { return "(edits an earlier message) \(edit.text)" }
    guard let old = transcript.apply(edit, by: author, in: chat, at: time) else {
      return "(an edit that doesn't count: another's message, or after an hour)"
    }
    return "(edits \(old.quote)) \(edit.text)"
  }

  /// Returns what a terminal shows of a message, or nil if it shows nothing.
  static func words(for content: MessageContent) -> String? {
    var parts: [String] = []
    if let reply = content.reply { parts.append("(in reply to “\(reply.text)”)") }
    if let text = content.text { parts.append(text) }
    if let file = content.file {
      parts.append("(with the file \(file.name), \(quantity(file.size, "byte")))")
    }
    if let forum = content.invitation { parts.append("(with an invitation to \(forum.name))") }
    let isShown = content.text != nil || content.file != nil || content.invitation != nil
    return isShown ? parts.joined(separator: " ") : nil
  }

  func say(
    _ text: String?, by author: EncryptionPublicKey, to other: EncryptionPublicKey? = nil
  ) async {
    var name = await name(of: author)
    if let other { name += " to \(await self.name(of: other))" }
    for line in text?.split(separator: "\n", omittingEmptySubsequences: false) ?? [] {
      print("\(name)> \(line)")
    }
  }

  /// Returns a user's name, followed by a part of the key unless it is the partner, as anyone can take any name.
  func name(of key: EncryptionPublicKey) async -> String {
    if names[key] == nil { names[key] = (try? await device.user(key))?.name }
    let name = names[key] ?? "?"
    if key == partner?.key || key == device.user { return name }
    return "\(name) (\(key.hex.prefix(16))…\(people.state(of: key) == nil ? ", a request" : ""))"
  }

  func truncate(_ message: MessageID) async { try? await device.truncate(message) }

  // MARK: - People

  /// Brings together what is here and at the service of whom the user allows and blocks.
  func refresh() async {
    isRead = true
    let today = JSONValue.number((now / Self.day).rounded(.down) * Self.day)
    if people.entry("devices", installation)["seen"] != today {
      let members: PrivateFile.Entry = ["name": .text("awd wallet chat"), "seen": today]
      people.change("devices", installation, members, at: now)
    }
    do {
      let theirs = try await device.privateFile()
      let merged = people.merged(with: theirs)
      let written = merged == theirs ? theirs : try await device.write(merged)
      people = people.merged(with: written)
      try folder.keep(people)
    } catch { if !Task.isCancelled { print("* devices may differ in whom you allow: \(error)") } }
  }

  func change(_ user: DeviceUser, _ members: PrivateFile.Entry) async {
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

  /// The time in milliseconds since 1970.
  var now: Double { (Date().timeIntervalSince1970 * 1_000).rounded() }

  /// The milliseconds of a day.
  static let day = 86_400_000.0

  /// Shows the number that the user and the partner compare, once the user has said whether it is the same.
  func verify(_ answer: String) async throws {
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

  func beginLink() throws {
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
  func answer(_ digits: String) async throws {
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
  func export(to file: String) async throws {
    let passphrase = AccountExport.makePassphrase()
    let export = AccountExport(try await device.secrets(), people: people)
    guard let sealed = export.sealed(by: passphrase),
      try DurableFile.createOnce(file, sealed, mode: 0o600)
    else { throw ChatError(description: "\(file) is there already: name another file") }
    print("* written, without messages, as none are kept here; it opens with \(passphrase)")
  }
}
