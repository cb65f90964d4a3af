/// An account on a server, as one device uses it.
///
/// Messages wait in the inbox for a week, so that none is missed while no push arrives or the app isn't running. When
/// the app comes to the front, and after each push, it reads on from the last message that it has:
///
/// ```swift
/// for message in try await anna.inbox(since: lastID) {
///   show(message)
///   lastID = message.id
/// }
/// ```
public struct MsgrSession: Sendable {
  /// The proof that a device belongs to an account.
  enum Credentials: Sendable {
    case password(String, String)
    case token(String)
  }

  /// The relation of two users after one has added the other.
  public enum Friendship: String, Decodable, Sendable {
    /// Each has added the other.
    case friends
    /// The other user has been sent a request.
    case requested
  }

  /// The most messages on a page of the inbox.
  public static let pageSize = 100

  let server: MsgrServer
  let credentials: Credentials

  /// The token to keep, in the keychain, for using the account without its password, or nil for a session with name and
  /// password.
  public var token: String? { if case .token(let token) = credentials { token } else { nil } }

  // MARK: - Contacts

  /// Returns all users that the account has to do with.
  ///
  /// - Throws: ``MsgrError``.
  public func friends() async throws(MsgrError) -> MsgrContacts {
    try await request("/friends", [:], MsgrContacts.self)
  }

  /// Returns the friends' names, sorted by their bytes.
  ///
  /// - Throws: ``MsgrError``.
  public func contacts() async throws(MsgrError) -> [String] {
    try await request("/contacts", [:], [String].self)
  }

  /// Sends a user a request to become a friend, or agrees to that user's request. The user gets one message with
  /// ``MsgrMessage/isAddRequest``, however often this is called.
  ///
  /// - Parameter name: the user.
  /// - Returns: the relation of the two users from now on.
  /// - Throws: `.forbidden` if there is no such user or this account blocks it, or another
  ///   ``MsgrError``.
  @discardableResult
  public func add(_ name: String) async throws(MsgrError) -> Friendship {
    try await request("/add", ["AddUser": name], Added.self).Status
  }

  /// Ends a friendship, or withdraws or declines a request.
  ///
  /// - Parameter name: the user; one that is no friend changes nothing.
  /// - Throws: ``MsgrError``.
  public func unfriend(_ name: String) async throws(MsgrError) {
    _ = try await request("/unfriend", ["User": name], EmptyReply.self)
  }

  /// Blocks a user, whose messages don't arrive any more. The user isn't notified.
  ///
  /// - Parameter name: the user.
  /// - Throws: `.forbidden` if there is no such user, or another ``MsgrError``.
  public func block(_ name: String) async throws(MsgrError) {
    _ = try await request("/block", ["User": name], EmptyReply.self)
  }

  /// Unblocks a user.
  ///
  /// - Parameter name: the user; one that isn't blocked changes nothing.
  /// - Throws: ``MsgrError``.
  public func unblock(_ name: String) async throws(MsgrError) {
    _ = try await request("/unblock", ["User": name], EmptyReply.self)
  }

  // MARK: - Messages

  /// Sends a message to a user, friend or not. When this returns, the message is on the server's disk.
  ///
  /// - Parameters:
  ///   - text: the message, without control characters but tab, CR and LF; some 3,900 bytes at most.
  ///   - name: the user.
  ///   - clientID: a name for the message, 1 to 64 of `[0-9A-Za-z_-]`, such as a UUID. With the same one, the call can be
  ///     repeated for a day until it succeeds, and the message is sent once.
  /// - Returns: the message's identifier.
  /// - Throws: `.messageTooLong`, `.forbidden` if there is no such user, `.conflict` if the name was another message's,
  ///   or another ``MsgrError``.
  @discardableResult
  public func send(
    _ text: String, to name: String, as clientID: String? = nil
  ) async throws(MsgrError) -> MsgrMessageID {
    var fields = ["UserTo": name, "Message": text]
    fields["ClientId"] = clientID
    return try await request("/message", fields, name: "UserFrom", Sent.self).Id
  }

  /// Reads the new messages in the inbox, page by page.
  ///
  /// The position tells the server that everything up to it has been seen: the badge counts newer messages only. All of
  /// them stay in the inbox nevertheless, for the account's other devices.
  ///
  /// - Parameter position: the last message that the app has, or nil to read from the beginning.
  /// - Returns: the messages behind it, oldest first.
  /// - Throws: ``MsgrError``; then the next call reads the same messages again.
  public func inbox(since position: MsgrMessageID? = nil) async throws(MsgrError) -> [MsgrMessage] {
    var messages: [MsgrMessage] = []
    while true {
      let last = messages.last?.id ?? position
      let page = try await inboxPage(since: last)
      // Otherwise a faulty server could go on for ever.
      if let last, let next = page.last?.id, next <= last { throw .unexpected(status: 200) }
      messages += page
      if page.count < Self.pageSize { return messages }
    }
  }

  /// Reads one page of the inbox.
  ///
  /// - Parameter position: the last message that the app has, or nil to read from the beginning. See ``inbox(since:)``.
  /// - Returns: the messages behind it, oldest first: ``pageSize`` of them, or fewer if there are no more.
  /// - Throws: ``MsgrError``.
  public func inboxPage(
    since position: MsgrMessageID? = nil
  ) async throws(MsgrError) -> [MsgrMessage] {
    let fields = position.map { ["Since": $0.text] } ?? [:]
    return try await request("/inbox", fields, [MsgrMessage].self)
  }

  /// Reads what this account and a user have sent each other, newest first. Own messages are among them if the account had
  /// a device that streams when they were sent.
  ///
  /// - Parameters:
  ///   - name: the user.
  ///   - position: the message before which to begin, or nil for the newest.
  ///   - count: the most messages, 1 to 100.
  /// - Returns: the messages, as far as they are still kept.
  /// - Throws: ``MsgrError``.
  public func history(
    with name: String, before position: MsgrMessageID? = nil, limit count: Int = 50
  ) async throws(MsgrError) -> [MsgrMessage] {
    var fields = ["With": name, "Limit": String(count)]
    fields["Before"] = position?.text
    return try await request("/history", fields, [MsgrMessage].self)
  }

  /// Records that everything from a user up to a message was read, so that the badge counts it no more, and the user's other
  /// devices know.
  ///
  /// - Parameters:
  ///   - name: the user.
  ///   - last: the last message that was read.
  /// - Throws: ``MsgrError``.
  public func markRead(from name: String, upTo last: MsgrMessageID) async throws(MsgrError) {
    _ = try await request("/read", ["With": name, "Id": last.text], EmptyReply.self)
  }

  // MARK: - The account

  /// Changes the password, and ends every other session.
  ///
  /// - Parameters:
  ///   - old: the password.
  ///   - new: the new one, as long as the server demands.
  /// - Throws: `.forbidden` if the old one is wrong, `.invalid` if the new one is too short, or another ``MsgrError``.
  public func changePassword(from old: String, to new: String) async throws(MsgrError) {
    _ = try await request("/password", ["Password": old, "NewPassword": new], EmptyReply.self)
  }

  /// Lists the account's sessions, the newest first.
  ///
  /// - Throws: ``MsgrError``.
  public func sessions() async throws(MsgrError) -> [MsgrLogin] {
    try await request("/sessions", [:], [MsgrLogin].self)
  }

  /// Ends a session of the account, and unbinds its device.
  ///
  /// - Parameter login: the session, of ``sessions()``.
  /// - Throws: `.forbidden` if it has ended before, or another ``MsgrError``.
  public func end(_ login: MsgrLogin) async throws(MsgrError) {
    _ = try await request("/sessions", ["End": login.id], [MsgrLogin].self)
  }

  /// Exports the account: all that the server keeps of it but for password and tokens.
  ///
  /// - Returns: the JSON that the server wrote.
  /// - Throws: `.tooOften` if it was exported three times within a minute, or another ``MsgrError``.
  public func export() async throws(MsgrError) -> [UInt8] {
    try await server.post("/export", whole([:]), token: token)
  }

  /// Ends the token, and unbinds its device, to which nothing is pushed any more.
  ///
  /// - Throws: `.forbidden` if the token has ended before, or the account is used by name and
  ///   password; or another ``MsgrError``.
  public func logout() async throws(MsgrError) {
    _ = try await request("/logout", [:], EmptyReply.self)
  }

  /// Deletes the account with its contacts, inbox, devices and tokens.
  ///
  /// - Parameter password: the account's password, which the user has to type again.
  /// - Throws: `.forbidden` if the password is wrong, or another ``MsgrError``.
  public func delete(password: String) async throws(MsgrError) {
    _ = try await request("/delete", ["Password": password], EmptyReply.self)
  }

  // MARK: - Asking

  /// The reply that says nothing but that something is done.
  struct EmptyReply: Decodable {}

  private struct Added: Decodable { let Status: Friendship }

  /// The reply to a message that was sent.
  struct Sent: Decodable { let Id: MsgrMessageID }

  /// Makes a request of the account's, and reads the response.
  func request<Value: Decodable>(
    _ path: String, _ fields: [String: String], name field: String = "Username",
    _ type: Value.Type
  ) async throws(MsgrError) -> Value {
    try MsgrJSON.reply(type, await server.post(path, whole(fields, name: field), token: token))
  }

  /// Returns the fields with the name and the password, unless there is a token.
  private func whole(_ fields: [String: String], name field: String = "Username") -> [String:
    String]
  {
    guard case .password(let name, let password) = credentials else { return fields }
    return fields.merging([field: name, "Password": password]) { given, _ in given }
  }
}

// The token and the password stand for the user.
extension MsgrSession: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The type's name, without the credentials.
  public var description: String { "MsgrSession" }
  /// The type's name, without the credentials.
  public var debugDescription: String { description }
  /// A mirror without children, so that `dump` shows nothing.
  public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// The users that an account has to do with, each list sorted by bytes.
public struct MsgrContacts: Sendable, Hashable, Decodable {
  /// The friends: each has added the other.
  public let friends: [String]
  /// The users who have sent a request to become friends.
  public let incoming: [String]
  /// The users who were sent one.
  public let outgoing: [String]
  /// The users of whom nothing is let through.
  public let blocked: [String]

  private enum CodingKeys: String, CodingKey {
    case friends = "Friends"
    case incoming = "Incoming"
    case outgoing = "Outgoing"
    case blocked = "Blocked"
  }
}
