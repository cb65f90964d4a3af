internal import ApptimistProtocol
internal import CommandLine
internal import Cryptography
internal import FoundationEssentials
internal import ServiceKit
internal import WalletClient

/// Carries out the lines that are typed, and shows the messages that come.
actor ChatSession {
  /// The data of a message: JSON, so that other apps can add members.
  private struct Content: Codable {
    /// The identifier, which makes messages of the same text in the same second differ.
    let id: String
    let text: String
  }

  private let device: Device
  private let folder: ChatFolder
  private let print: @Sendable (String) -> Void
  private var partner: DeviceUser?
  private var names: [EncryptionPublicKey: String] = [:]

  init(device: Device, folder: ChatFolder, print: @escaping @Sendable (String) -> Void) {
    self.device = device
    self.folder = folder
    self.print = { print($0.printable) }
  }

  /// Remembers that the service has made the account.
  nonisolated func accountMade(_ place: StreamPlace) throws { try folder.keep(place) }

  // MARK: - Messages

  /// Shows an entry of the stream, and remembers that it was shown.
  func show(_ entry: WalletClient.StreamEntry) async throws {
    switch entry {
    case .message(let message):
      let name = await name(of: message.from)
      for line in await text(of: message).split(separator: "\n", omittingEmptySubsequences: false) {
        print("\(name)> \(line)")
      }
    case .gap: print("* the service has dropped messages that you never got")
    case .truncation: break
    }
    try folder.keep(entry.place)
    await device.stored(entry.place)
  }

  /// Returns a message's text, and the faults of its protection.
  private func text(of message: DeviceMessage) async -> String {
    do throws(DeviceError) {
      let opened = try await device.open(message, takesDoubtful: true)
      let content = try? JSONDecoder().decode(Content.self, from: Data(opened.data))
      guard let text = content?.text else { return "(a message that can't be read here)" }
      return switch opened.protection {
      case .sealed, .signed: text
      case .version1: "(in version 1's box) \(text)"
      case .unsigned: "(signed by nobody) \(text)"
      case .doubtful: "(perhaps forged) \(text)"
      }
    } catch { return error == .doesNotOpen ? "(a message that can't be read here)" : "(\(error))" }
  }

  /// Returns a user's name, followed by a part of the key unless it is the partner, as anyone can take any name.
  private func name(of key: EncryptionPublicKey) async -> String {
    if names[key] == nil { names[key] = (try? await device.user(key))?.name }
    let name = names[key] ?? "?"
    return key == partner?.key ? name : "\(name) (\(key.hex.prefix(16))…)"
  }

  // MARK: - Typed lines

  /// Carries out a line.
  ///
  /// - Returns: false if the chat ends.
  func take(_ line: String) async -> Bool {
    guard line.hasPrefix("/"), !line.hasPrefix("//") else {
      if !line.isEmpty { await send(line.hasPrefix("/") ? String(line.dropFirst()) : line) }
      return true
    }
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    let rest = words.count == 2 ? words[1] : ""
    switch words[0] {
    case "/quit": return false
    case "/me": print("* \(device.user.hex)")
    case "/to": await turn(to: rest)
    case "/search": await search(rest)
    case "/who": await tellOf(rest)
    case "/vouch": await vouch(for: rest)
    default:
      let help = String(decoding: PackageResources.chat_txt, as: UTF8.self)
      for line in help.split(separator: "\n") { print(String(line)) }
    }
    return true
  }

  private func send(_ text: String) async {
    guard let partner else { return print("* to whom? /to NAME") }
    let content = Content(id: Hex.encode(SecureRandom.bytes(8)), text: text)
    do {
      let data = Array(try JSONEncoder().encode(content))
      let message = try await device.seal(data, to: partner.key)
      try await device.send(message)
      if message.protection == .version1 { print("* sent in version 1's box, which protects less") }
    } catch { print("* not sent: \(error)") }
  }

  /// Makes another user the partner.
  func turn(to whom: String) async {
    guard let user = await find(whom) else { return }
    partner = user
    names[user.key] = user.name
    print("* you talk to \(user.name), \(user.key.hex)")
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
    await turn(to: whom)
  }

  private func search(_ name: String) async {
    do throws(DeviceError) {
      let users = try await device.search(name: name, limit: 20)
      if users.isEmpty { print("* nobody") }
      for user in users { print("* \(user.key.hex) \(user.name)") }
    } catch { print("* \(error)") }
  }

  private func tellOf(_ whom: String) async {
    guard let user = whom.isEmpty ? partner : await find(whom) else { return }
    do throws(DeviceError) {
      let vouchers = try await device.vouchers(of: user.key)
      print("* \(user.key.hex) \(user.name), vouchers: \(vouchers.count)")
      for voucher in vouchers.prefix(20) {
        let name = try await device.user(voucher.user)?.name ?? "?"
        let proof = voucher.evidence == .forged ? " (forged)" : ""
        print("*   \(voucher.user.hex) \(name)\(proof)")
      }
    } catch { print("* \(error)") }
  }

  private func vouch(for whom: String) async {
    guard let user = await find(whom) else { return }
    do throws(DeviceError) {
      try await device.vouch(for: user.key)
      print("* you vouch for \(user.name), \(user.key.hex)")
    } catch { print("* \(error)") }
  }

  private func users(called whom: String) async throws(DeviceError) -> [DeviceUser] {
    if let key = EncryptionPublicKey(hex: whom) {
      return try await device.user(key).map { [$0] } ?? []
    }
    return try await device.search(name: whom, limit: 20)
      .filter { $0.name.lowercased() == whom.lowercased() }
  }

  /// Finds the only user with a key or a name, and prints why there is none.
  private func find(_ whom: String) async -> DeviceUser? {
    do throws(DeviceError) {
      let users = try await users(called: whom)
      if users.count == 1 { return users[0] }
      print(
        users.isEmpty ? "* nobody has this name or key" : "* several have this name: use the key")
      for user in users { print("* \(user.key.hex) \(user.name)") }
    } catch { print("* \(error)") }
    return nil
  }
}
