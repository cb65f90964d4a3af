internal import Storage
internal import Platform

/// The data of an account beside its messages, without its password and tokens. The members' names are those in JSON.
private struct ExportedAccount: Sendable, Encodable {
  let Username: String
  let Created: String
  let Contacts: ContactLists
  let Sessions: [SessionSummary]
  let Devices: [Device]
  let Tokens: [PublisherToken]
  let Wallets: [String]

  struct Device: Sendable, Encodable {
    let DeviceID: String
    /// The address at a push service that the device has subscribed with.
    let Endpoint: String?
  }

  struct PublisherToken: Sendable, Encodable {
    let Name: String
    let To: [String]
  }
}

extension MsgrStore {
  /// Returns all that is kept of the caller's account, as JSON with the messages to it and its own copies, oldest first.
  ///
  /// Messages are read and encoded page by page, as the client takes them. Each page confirms the caller, as the name may be
  /// another's meanwhile.
  func export(_ caller: Caller) async throws -> AsyncThrowingStream<[UInt8], any Error> {
    let contacts = try await contacts(of: caller)
    let sessions = try await sessions(of: caller).map { SessionSummary($0, seenBy: caller) }
    let name = caller.name
    let account: ExportedAccount? = try await read(as: caller) { snapshot in
      let devices: [ExportedAccount.Device] = try snapshot.all(
        "SELECT device_id, endpoint FROM msgr_devices WHERE username = ? ORDER BY bound_at", name
      ) { row in
        ExportedAccount.Device(
          DeviceID: String((try row[0] as DeviceID).text.utf8.prefix { $0 != UInt8(ascii: "/") })
            ?? "",
          Endpoint: try row[1])
      }
      let publishers: [(hash: TokenHash, name: String)] = try snapshot.all(
        "SELECT hash, name FROM msgr_publishers WHERE username = ? ORDER BY created_at", name
      ) { (try $0[0], try $0[1]) }
      let tokens = try publishers.map { publisher in
        ExportedAccount.PublisherToken(
          Name: publisher.name,
          To: try snapshot.values(
            "SELECT recipient FROM msgr_publisher_recipients WHERE hash = ? ORDER BY recipient",
            publisher.hash))
      }
      let wallets = try wallets(of: name, snapshot)
      return try snapshot.one("SELECT created_at FROM msgr_users WHERE username = ?", name) {
        ExportedAccount(
          Username: name.text, Created: (try $0[0] as Timestamp).description, Contacts: contacts,
          Sessions: sessions, Devices: devices, Tokens: tokens, Wallets: wallets)
      }
    }
    guard let account else { throw OutdatedCaller() }
    var json = try JSONText.of(account)
    json.removeLast()
    let export = Export(self, caller, beginning: json + Array(#","Messages":["#.utf8))
    return AsyncThrowingStream { try await export.piece() }
  }
}

/// An export that is under way.
private actor Export {
  private let store: MsgrStore
  private let caller: Caller
  private let owner = WorkOwner.current
  /// The position before the next page.
  private var beginning: [UInt8]
  /// The message after which the next page begins; nil after the end.
  private var position: MessageID? = .zero

  init(_ store: MsgrStore, _ caller: Caller, beginning: [UInt8]) {
    self.store = store
    self.caller = caller
    self.beginning = beginning
  }

  func piece() async throws -> [UInt8]? {
    guard let position else { return nil }
    let page = try await WorkOwner.$current.withValue(owner) {
      try await store.read(as: caller) { [store, caller] snapshot in
        try store.log(of: caller.name, after: position, snapshot)
      }
    }
    var json = beginning
    for message in page {
      if json.count != beginning.count || position > .zero { json.append(UInt8(ascii: ",")) }
      json += try JSONText.of(message)
    }
    beginning = []
    self.position = page.last?.id
    return page.isEmpty ? json + Array("]}".utf8) : json
  }
}
