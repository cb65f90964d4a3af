public import HTTPClient
public import HTTPProtocol

/// A Msgr server, at which an app registers and logs in.
///
/// An app asks once for name and password, and keeps the token that it gets for them (in the keychain; not the
/// password). From then on a ``MsgrSession`` with the token is all it needs:
///
/// ```swift
/// let server = try MsgrServer("https://msgr.example.org")
/// let anna = try await server.login("anna", password: typed, device: deviceToken)
/// keychain.token = anna.token
/// try await anna.send("Hello", to: "bert")
/// ```
///
/// `device` is the push service's name for the app on this device: on iOS the bytes that
/// `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)` is given, as hexadecimal digits. It may change:
/// log in again when it does. An app that isn't pushed to makes up a name once, `stream:` and a UUID.
///
/// Any number of tasks may use a server and its sessions at once. A request that fails isn't repeated: after a
/// `.noResponse` the server may have carried out the request.
public struct MsgrServer: Sendable {
  private let url: String
  private let client: WebClient
  private let sockets: MsgrSockets

  /// Makes a server with connections of its own.
  ///
  /// - Parameters:
  ///   - url: the server's URL, `https` or, on the same machine, `http`.
  ///   - options: times, limits, certificates.
  /// - Throws: `.outOfResources`.
  public init(
    _ url: String, options: HTTPClientOptions = HTTPClientOptions()
  ) throws(HTTPClientError) {
    var url = url
    while url.hasSuffix("/") { url.removeLast() }
    self.url = url
    client = try WebClient(options)
    sockets = MsgrSockets(options)
  }

  /// Makes an account, and binds the device to it.
  ///
  /// - Parameters:
  ///   - name: 1 to 64 bytes in NFC, without control characters.
  ///   - password: 1 to 128 bytes.
  ///   - device: the push token, 64 to 200 hexadecimal digits; or `stream:` and 8 to 64 letters,
  ///     digits and hyphens.
  ///   - deviceName: the user's name for the device, which the list of sessions shows.
  ///   - invitation: an invitation, if the server requires one.
  /// - Returns: a session with a token of the device's.
  /// - Throws: `.forbidden` if the name is in use or the invitation isn't valid, `.invalid` if the password is too short, or
  ///   another ``MsgrError``.
  public func register(
    _ name: String, password: String, device: String, named deviceName: String? = nil,
    invitation: String? = nil
  ) async throws(MsgrError) -> MsgrSession {
    try await open("/register", name, password, device, deviceName, invitation)
  }

  /// Logs in, and binds the device to the account. The device leaves any other account, and its earlier token ends.
  ///
  /// - Parameters:
  ///   - name: the account's name.
  ///   - password: its password.
  ///   - device: as for ``register(_:password:device:named:invitation:)``.
  ///   - deviceName: the user's name for the device, which the list of sessions shows.
  /// - Returns: a session with a token of the device's.
  /// - Throws: `.forbidden` if name or password is wrong, or another ``MsgrError``.
  public func login(
    _ name: String, password: String, device: String, named deviceName: String? = nil
  ) async throws(MsgrError) -> MsgrSession {
    try await open("/login", name, password, device, deviceName, nil)
  }

  /// Makes a session with a token that was kept. Nothing is sent.
  ///
  /// - Parameter token: the value of ``MsgrSession/token``. It ends after 90 days without use: then requests throw
  ///   `.forbidden`, and the user has to log in again.
  public func session(token: String) -> MsgrSession {
    MsgrSession(server: self, credentials: .token(token))
  }

  /// Makes a session with a name and a password, which go with each request, as the first clients did it. Nothing is
  /// sent.
  ///
  /// - Parameters:
  ///   - name: the account's name.
  ///   - password: its password.
  public func session(name: String, password: String) -> MsgrSession {
    MsgrSession(server: self, credentials: .password(name, password))
  }

  /// The reply with a new token.
  struct Issued: Decodable { let Token: String }

  private func open(
    _ path: String, _ name: String, _ password: String, _ device: String, _ deviceName: String?,
    _ invitation: String?
  ) async throws(MsgrError) -> MsgrSession {
    var fields = ["Username": name, "Password": password, "DeviceID": device]
    fields["DeviceName"] = deviceName
    fields["Invitation"] = invitation
    let body = try await post(path, fields, token: nil)
    return session(token: try MsgrJSON.reply(Issued.self, body).Token)
  }

  /// Opens a stream.
  func stream(
    token: String, since position: MsgrMessageID?,
    onRead: @escaping @Sendable (MsgrReading) -> Void
  ) async throws(MsgrError) -> MsgrStream {
    let query = position.map { "?since=\($0.text)" } ?? ""
    do throws(WebSocketError) {
      return MsgrStream(
        try await sockets.connect(url + "/stream" + query, token: token), onRead: onRead)
    } catch { throw error.code == .refused(.forbidden) ? .forbidden : .disconnected(error) }
  }

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - path: the path, with a slash in front.
  ///   - fields: the fields.
  ///   - token: a token, or nil if the fields have credentials.
  /// - Returns: the body of the response.
  /// - Throws: ``MsgrError``.
  func post(
    _ path: String, _ fields: [String: String], token: String?
  ) async throws(MsgrError) -> [UInt8] {
    try await send(.post, path, body: MsgrJSON.encode(fields), token: token)
  }

  /// Sends a request with JSON or without a body.
  func send(
    _ method: Method, _ path: String, body: [UInt8]?, token: String?
  ) async throws(MsgrError) -> [UInt8] {
    var header = HeaderFields()
    if body != nil { header.append(.contentType, "application/json") }
    if let token { header.append(.authorization, "Bearer \(token)") }
    let response: IncomingResponse
    do throws(HTTPClientError) {
      response = try await client.send(
        OutgoingRequest(method, url + path, fields: header, body: body))
    } catch { throw .noResponse(error) }
    if let error = MsgrError(response) { throw error }
    return response.body
  }
}

/// A session of an account or one of its publishers, as the list of sessions shows it.
public struct MsgrLogin: Sendable, Hashable, Decodable, Identifiable {
  /// The name that ``MsgrSession/end(_:)`` ends it by.
  public let id: String
  /// The user's name for the device; empty if none was given.
  public let device: String
  /// The way in which the device gets messages: `apns`, `fcm`, `webpush` or `stream`; `publish` for a
  /// publisher.
  public let kind: String
  /// The time of the login, as RFC 3339 writes it.
  public let created: String
  /// The time of the last use, to the day.
  public let used: String
  /// True if it is the requesting session.
  public let isCurrent: Bool

  private enum CodingKeys: String, CodingKey {
    case id = "Session"
    case device = "Device"
    case kind = "Kind"
    case created = "Created"
    case used = "Used"
    case isCurrent = "Current"
  }
}

/// A reason for which a request failed. It contains no password, token or message.
public enum MsgrError: Error, Hashable, Sendable {
  /// A field is missing, empty, too long, or has characters that aren't allowed (400). The message says so in words for
  /// developers.
  case invalid(field: String?, message: String)
  /// The name, the password or the token is wrong, the other user isn't known, or the act isn't allowed (403). The
  /// server doesn't say which.
  case forbidden
  /// The name that the client gave a message was another message's (409).
  case conflict
  /// The message is too long for a push of 4,096 bytes (413).
  case messageTooLong
  /// There were too many failed logins, or too many messages in a minute (429). The time to wait is nil if the server
  /// states none.
  case tooOften(retryAfter: Duration?)
  /// The server can't do it now (503), and has done nothing. The time to wait is nil if it states none.
  case unavailable(retryAfter: Duration?)
  /// The response is none of the protocol's: another status, or a body that can't be read.
  case unexpected(status: Int)
  /// No response came. Unless no server was reached, it may have carried out the request.
  case noResponse(HTTPClientError)
  /// A stream isn't there, or no longer.
  case disconnected(WebSocketError)
}

extension MsgrError {
  /// Makes the error of a response, or returns nil for status 200.
  init?(_ response: IncomingResponse) {
    guard response.status != .ok else { return nil }
    let fault = MsgrJSON.decode(MsgrFault.self, response.body)
    self.init(
      status: Int(response.status.code), field: fault?.field, message: fault?.error ?? "",
      retryAfter: response.fields.first(.retryAfter).flatMap { UInt16($0) }
        .map { .seconds(Int($0)) })
  }

  /// Makes the error of a status.
  init(status: Int, field: String? = nil, message: String, retryAfter: Duration? = nil) {
    switch status {
    case 400: self = .invalid(field: field, message: message)
    case 403: self = .forbidden
    case 409: self = .conflict
    case 413: self = .messageTooLong
    case 429: self = .tooOften(retryAfter: retryAfter)
    case 503: self = .unavailable(retryAfter: retryAfter)
    default: self = .unexpected(status: status)
    }
  }
}

/// A refusal in JSON.
struct MsgrFault: Decodable {
  let error: String
  let field: String?
  /// The status, which a stream's refusal has within.
  let status: Int?
}
