internal import ApptimistProtocol
internal import ApptimistResources
internal import Cryptography
internal import Formats
internal import Platform
internal import ServiceKit
internal import WalletClient

/// The lines that are typed.
extension ChatSession {
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
      case "/search": try await search(rest)
      case "/messages": listMessages()
      case "/reply": try await reply(ChatReference(rest))
      case "/react": try await react(ChatReference(rest))
      case "/edit": try await edit(ChatReference(rest))
      case "/delete": try await takeBack(ChatReference(rest))
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
    try await send(MessageContent(text: text), to: try await find(""))
  }

  /// Sends a content to a person or forum, and a copy to the user's other devices.
  private func send(_ content: MessageContent, to partner: DeviceUser) async throws {
    guard [content.text, content.edit?.text].allSatisfy(Self.fits) else {
      throw ChatError(
        description: "not sent: a message has at most \(MessageContent.textLimit) bytes")
    }
    guard !partner.hasChangedKey else {
      throw ChatError(description: "not sent: \(changed(partner))")
    }
    // Writing first allows.
    if partner.kind != .forum, people.state(of: partner.key) != "allowed" {
      await change(partner, ["state": .text("allowed")])
    }
    do {
      let message = try await device.seal(content.data, to: partner.key)
      try await deliver(message)
      if message.protection == .version1 { print("* sent in version 1's box, which protects less") }
      var copy = MessageContent(id: copyID)
      copy.sent = MessageContent.Sent(message, content: content.data)
      let sealed = try await device.seal(copy.data, to: device.user)
      try await deliver(sealed)
      record(content, message, copy: sealed.id)
    } catch { throw ChatError(description: "not sent: \(error)") }
  }

  private static func fits(_ text: String?) -> Bool {
    text?.utf8.count ?? 0 <= MessageContent.textLimit
  }

  /// Sends a message until the service has it: sent again, it is queued once.
  private func deliver(_ message: OutgoingMessage) async throws {
    while true {
      do throws(DeviceError) { return try await device.send(message) } catch {
        guard error == .timedOut, !Task.isCancelled else { throw error }
        print("* the service takes long; still trying")
      }
    }
  }

  /// Records what the user has sent.
  private func record(_ content: MessageContent, _ message: OutgoingMessage, copy: MessageID) {
    let user = device.user
    let time = message.time
    if let id = content.takenBack { _ = transcript.takeBack(id, by: user, in: message.to) }
    if let edit = content.edit {
      _ = transcript.apply(edit, by: user, in: message.to, at: time)
    }
    guard let text = Self.words(for: content) else { return }
    transcript.add(message.id, in: message.to, by: user, at: time, text, copies: [copy])
  }

  // MARK: - Messages that were shown

  private func listMessages() {
    let messages = partner.map { transcript.newest(20, in: $0.key) } ?? []
    if messages.isEmpty { print("* no messages with whom you talk to") }
    for message in messages {
      let author = message.author == device.user ? "you" : names[message.author] ?? "?"
      let edited = message.edited > 0 ? " (edited)" : ""
      print("* #\(message.number) \(author): \(message.quote)\(edited)")
    }
  }

  /// Finds the message that a line names, or else the newest one with the partner.
  private func message(_ reference: ChatReference, isOwn: Bool) throws -> ChatTranscript.Message {
    var found: ChatTranscript.Message?
    if let number = reference.number {
      found = transcript[number: number]
    } else if let partner {
      found = transcript.newest(in: partner.key, by: device.user, isOwn: isOwn)
    }
    guard let found else {
      throw ChatError(description: "there is no such message: /messages lists them")
    }
    guard !isOwn || found.author == device.user else {
      throw ChatError(description: "#\(found.number) isn't yours")
    }
    return found
  }

  private func reply(_ reference: ChatReference) async throws {
    let message = try message(reference, isOwn: false)
    guard !reference.rest.isEmpty else { throw ChatError(description: "/reply [#N] TEXT") }
    var content = MessageContent(text: reference.rest)
    content.reply = MessageContent.Reply(to: message.id, quoting: message.text)
    try await send(content, to: try await find(message.chat.hex))
  }

  private func react(_ reference: ChatReference) async throws {
    let message = try message(reference, isOwn: false)
    guard let reaction = MessageContent.Reaction(to: message.id, emoji: reference.rest) else {
      throw ChatError(description: "a reaction is one emoji, or nothing, which takes it back")
    }
    var content = MessageContent()
    content.reaction = reaction
    try await send(content, to: try await find(message.chat.hex))
  }

  private func edit(_ reference: ChatReference) async throws {
    let message = try message(reference, isOwn: true)
    guard reference.rest.contains(where: { !$0.isWhitespace }) else {
      throw ChatError(description: "/edit [#N] TEXT")
    }
    guard UInt64(max(0, now / 1_000)) <= message.time + MessageContent.Edit.period else {
      throw ChatError(description: "a message can be edited for an hour")
    }
    var content = MessageContent()
    content.edit = MessageContent.Edit(of: message.id, text: reference.rest)
    try await send(content, to: try await find(message.chat.hex))
    print("* edited \(message.quote)")
  }

  private func takeBack(_ reference: ChatReference) async throws {
    let message = try message(reference, isOwn: true)
    var content = MessageContent()
    content.takenBack = message.id
    try await send(content, to: try await find(message.chat.hex))
    for copy in message.copies { await truncate(copy) }
    print("* taken back: \(message.quote); what somebody has read or saved stays with them")
  }

  private func changed(_ user: DeviceUser) -> String {
    "the key of \(user.name) has changed: compare the number, then /verify yes"
  }

  /// Makes another user the partner.
  func turn(to whom: String) async throws {
    let user = try await find(whom)
    partner = user
    names[user.key] = user.name
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

  private func search(_ name: String) async throws {
    guard name.count >= 2 else {
      throw ChatError(description: "/search takes at least two characters")
    }
    list(try await device.search(name: name, limit: 20))
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
  func find(_ whom: String) async throws -> DeviceUser {
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
