/// An account on a server, as one device uses it.
///
/// What is missed while no push arrives or the app isn't running waits in the inbox for a week.
/// When the app comes to the front, and after each push, it reads on from the last message that it
/// has:
///
/// ```swift
/// for message in try await anna.inbox(since: lastID) {
///   show(message)
///   lastID = message.id
/// }
/// ```
public struct MsgrSession: Sendable {
  /// What a device shows to be taken for an account's.
  enum Credentials: Sendable {
    case password(String, String)
    case token(String)
  }

  /// What two users are to each other after one has added the other.
  public enum Friendship: String, Sendable {
    /// Each has added the other.
    case friends
    /// The other one has been asked.
    case requested
  }

  /// How many messages a page of the inbox has at most.
  public static let pageSize = 100

  let server: MsgrServer
  let credentials: Credentials

  /// What to keep, in the keychain, to use the account without its password; nil if it is used by
  /// name and password.
  public var token: String? {
    if case .token(let token) = credentials { token } else { nil }
  }

  // MARK: - Contacts

  /// The friends' names, sorted by their bytes.
  ///
  /// - Throws: ``MsgrError``.
  public func contacts() async throws(MsgrError) -> [String] {
    try await ask("/contacts", [:], [String].self)
  }

  /// Asks a user to become a friend, or agrees to that user's asking. The user is told by a message
  /// with ``MsgrMessage/isAddRequest``, once however often this is called.
  ///
  /// - Parameter name: the user.
  /// - Returns: what they are now.
  /// - Throws: `.forbidden` if there is no such user or this account blocks it, or another
  ///   ``MsgrError``.
  @discardableResult
  public func add(_ name: String) async throws(MsgrError) -> Friendship {
    let answer = try await ask("/add", ["AddUser": name], Added.self)
    guard let friendship = Friendship(rawValue: answer.Status) else {
      throw .unexpected(status: 200)
    }
    return friendship
  }

  /// Ends a friendship, or takes back or declines a request.
  ///
  /// - Parameter name: the user; one that is no friend changes nothing.
  /// - Throws: ``MsgrError``.
  public func unfriend(_ name: String) async throws(MsgrError) {
    _ = try await ask("/unfriend", ["User": name], Done.self)
  }

  /// Lets nothing of a user through any more. The user isn't told.
  ///
  /// - Parameter name: the user.
  /// - Throws: `.forbidden` if there is no such user, or another ``MsgrError``.
  public func block(_ name: String) async throws(MsgrError) {
    _ = try await ask("/block", ["User": name], Done.self)
  }

  /// Lets a user through again.
  ///
  /// - Parameter name: the user; one that isn't blocked changes nothing.
  /// - Throws: ``MsgrError``.
  public func unblock(_ name: String) async throws(MsgrError) {
    _ = try await ask("/unblock", ["User": name], Done.self)
  }

  // MARK: - Messages

  /// Sends a message to a user, friend or not. When this returns, it is on the server's disk.
  ///
  /// - Parameters:
  ///   - text: the message, without control characters but tab, CR and LF; some 3,900 bytes at
  ///     most.
  ///   - name: the user.
  /// - Returns: what the message is known by.
  /// - Throws: `.messageTooLong`, `.forbidden` if there is no such user, or another ``MsgrError``.
  @discardableResult
  public func send(_ text: String, to name: String) async throws(MsgrError) -> MsgrMessageID {
    let fields = ["UserTo": name, "Message": text]
    let answer = try await ask("/message", fields, name: "UserFrom", Sent.self)
    guard let id = MsgrMessageID(answer.Id) else { throw .unexpected(status: 200) }
    return id
  }

  /// Reads what is new in the inbox, page by page.
  ///
  /// The position tells the server that everything up to it has been seen: the badge counts what is
  /// newer. It stays in the inbox nevertheless, for the account's other devices.
  ///
  /// - Parameter position: the last message that the app has; nil: from the beginning.
  /// - Returns: the messages behind it, oldest first.
  /// - Throws: ``MsgrError``; what was read until then is read again next time.
  public func inbox(since position: MsgrMessageID? = nil) async throws(MsgrError) -> [MsgrMessage] {
    var messages: [MsgrMessage] = []
    while true {
      let last = messages.last?.id ?? position
      let page = try await inboxPage(since: last)
      // Else a faulty server could go on for ever.
      if let last, let next = page.last?.id, next <= last { throw .unexpected(status: 200) }
      messages += page
      if page.count < Self.pageSize { return messages }
    }
  }

  /// Reads one page of the inbox.
  ///
  /// - Parameter position: the last message that the app has; nil: from the beginning. See
  ///   ``inbox(since:)``.
  /// - Returns: the messages behind it, oldest first, at most ``pageSize``; fewer if there are no
  ///   more.
  /// - Throws: ``MsgrError``.
  public func inboxPage(
    since position: MsgrMessageID? = nil
  ) async throws(MsgrError) -> [MsgrMessage] {
    let fields = position.map { ["Since": $0.text] } ?? [:]
    return try await ask("/inbox", fields, [MsgrMessage].self)
  }

  // MARK: - The account

  /// Ends the token, and unbinds its device: nothing is pushed to it any more.
  ///
  /// - Throws: `.forbidden` if the token has ended before, or the account is used by name and
  ///   password; or another ``MsgrError``.
  public func logout() async throws(MsgrError) {
    _ = try await ask("/logout", [:], Done.self)
  }

  /// Deletes the account and all that is its: contacts, inbox, devices and tokens.
  ///
  /// - Parameter password: the account's, asked of the user again.
  /// - Throws: `.forbidden` if it is wrong, or another ``MsgrError``.
  public func delete(password: String) async throws(MsgrError) {
    _ = try await ask("/delete", ["Password": password], Done.self)
  }

  // MARK: - Asking

  private struct Done: Decodable {}

  private struct Added: Decodable {
    let Status: String
  }

  private struct Sent: Decodable {
    let Id: String
  }

  private func ask<Answer: Decodable>(
    _ path: String, _ fields: [String: String], name field: String = "Username",
    _ type: Answer.Type
  ) async throws(MsgrError) -> Answer {
    switch credentials {
    case .token(let token): return try await server.post(path, fields, token: token, type)
    case .password(let name, let password):
      let whole = fields.merging([field: name, "Password": password]) { given, _ in given }
      return try await server.post(path, whole, token: nil, type)
    }
  }
}

// Whoever has the token or the password is the user.
extension MsgrSession: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Nothing of the credentials.
  public var description: String { "MsgrSession" }
  /// The same.
  public var debugDescription: String { description }
  /// Without children, so that `dump` shows nothing.
  public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
