internal import MsgrMessages
internal import Storage
internal import Time

/// What is kept of an account beside its messages, without its password and tokens.
private struct ExportedAccount: Sendable, Encodable {
  let name: String
  let created: String
  let contacts: ContactLists
  let sessions: [SessionSummary]

  private enum CodingKeys: String, CodingKey {
    case name = "Username"
    case created = "Created"
    case contacts = "Contacts"
    case sessions = "Sessions"
  }
}

extension MsgrStore {
  /// Returns all that is kept of the caller's account, as JSON with the messages to it and its own copies, oldest first.
  ///
  /// Messages are read and encoded page by page, so that neither a reader nor an event loop is kept from others for long.
  func export(_ caller: Caller) async throws -> [UInt8] {
    let created: Timestamp? = try await read(as: caller) { snapshot in
      try snapshot.one("SELECT created_at FROM msgr_users WHERE username = ?", caller.name) {
        try $0[0]
      }
    }
    guard let created else { throw OutdatedCaller() }
    var json = try JSONText.of(
      ExportedAccount(
        name: caller.name.text, created: created.description,
        contacts: try await contacts(of: caller),
        sessions: try await sessions(of: caller).map { SessionSummary($0, seenBy: caller) }))
    json.removeLast()
    json += Array(#","Messages":["#.utf8)
    var page = try await log(of: caller.name, after: .zero)
    while let last = page.last?.id {
      for message in page { json += try JSONText.of(message) + [UInt8(ascii: ",")] }
      page = try await log(of: caller.name, after: last)
    }
    if json.last == UInt8(ascii: ",") { json.removeLast() }
    return json + Array("]}".utf8)
  }
}
