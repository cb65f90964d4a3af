internal import MsgrMessages
internal import Storage
internal import Time

/// All that is kept of an account, but for its password and tokens.
struct AccountExport: Sendable, Encodable {
  let name: String
  let created: String
  let contacts: ContactLists
  let sessions: [SessionSummary]
  /// The messages to the account and its own copies, oldest first.
  let messages: [Message]

  private enum CodingKeys: String, CodingKey {
    case name = "Username"
    case created = "Created"
    case contacts = "Contacts"
    case sessions = "Sessions"
    case messages = "Messages"
  }
}

extension MsgrStore {
  /// Returns all that is kept of the caller's account.
  ///
  /// The messages are read page by page, so that no reader is kept from others for long.
  func export(_ caller: Caller) async throws -> AccountExport {
    let created: Timestamp? = try await read(as: caller) { snapshot in
      try snapshot.one("SELECT created_at FROM msgr_users WHERE username = ?", caller.name) {
        try $0[0]
      }
    }
    guard let created else { throw OutdatedCaller() }
    var messages: [Message] = []
    while true {
      let page = try await log(of: caller.name, after: messages.last?.id ?? .zero)
      messages += page
      if page.count < Self.pageSize { break }
    }
    return AccountExport(
      name: caller.name.text, created: created.description,
      contacts: try await contacts(of: caller),
      sessions: try await sessions(of: caller).map { SessionSummary($0, seenBy: caller) },
      messages: messages)
  }
}
