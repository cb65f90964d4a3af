internal import Formats
internal import HTTPProtocol
internal import Platform

/// A published message in the form of Gotify's clients.
enum GotifyMessage {
  /// Returns the JSON of a message in an account's inbox.
  ///
  /// - Parameter names: the names that the account's clients have given senders.
  static func json(
    of message: Message, for account: UserName, _ names: [UserName: String]
  ) -> JSONValue {
    json(
      id: message.number ?? 0, sender: message.sender, named: names[message.sender], for: account,
      text: message.text.text, parts: message.parts, time: message.time)
  }

  /// Returns the JSON of a message. `appid`, `title` and `priority` are always there, as apps use them unchecked.
  static func json(
    id: Int64, sender: UserName, named name: String?, for account: UserName, text: String,
    parts: MessageParts, time: Timestamp
  ) -> JSONValue {
    .object([
      "id": .integer(max(1, id)),
      "appid": .integer(PublishingApplication.id(of: sender, for: account)),
      "message": .text(text),
      "title": .text(parts.title ?? name ?? PublishingApplication.name(of: sender)),
      "priority": .integer(parts.priority ?? 0),
      "date": .text(time.description),
      "extras": extras(of: parts),
    ])
  }

  /// Returns the extras as they were sent; where there are none, those that say the same as the message's own parts.
  private static func extras(of parts: MessageParts) -> JSONValue? {
    if let extras = parts.extras { return extras }
    var members: [JSONValue.Member] = []
    if let link = parts.link {
      let click = JSONValue.object(["url": .text(link)])
      members.append(
        JSONValue.Member("client::notification", .object(["click": click])))
    }
    if parts.isMarkdown == true {
      members.append(
        JSONValue.Member(
          "client::display", .object(["contentType": .text("text/markdown")])))
    }
    return members.isEmpty ? nil : .object(members)
  }

  /// Returns the JSON of an application.
  ///
  /// - Parameter token: the token that the client may send with; nil for others' publishers and topics.
  static func json(of application: PublishingApplication, token: String?) -> JSONValue {
    .object([
      "id": .integer(application.id),
      "token": token.map { .text($0) },
      "name": .text(application.name),
      "description": .text(application.description),
      "internal": .truth(application.publisher == nil),
      "image": .text(icon),
      "defaultPriority": .integer(application.defaultPriority),
      "createdAt": .text(application.created.description),
      "lastUsed": application.used.map { .text($0.description) } ?? .null,
    ])
  }

  /// The path of an icon, relative to the root and without a slash in front.
  static let icon = "static/defaultapp.png"

  /// Returns the JSON of a client.
  ///
  /// - Parameter token: the token, which is shown once.
  static func json(of session: Session, token: String?) -> JSONValue {
    .object([
      "id": .integer(session.number),
      "token": token.map { .text($0) },
      "name": .text(session.deviceName),
      "createdAt": .text(session.created.description),
      "lastUsed": token == nil ? .text(session.used.description) : .null,
    ])
  }
}

extension Session {
  /// The number by which Gotify's clients know the session.
  var number: Int64 { PublishingApplication.number(of: name) }
}

/// A failure in the form of Gotify's clients.
struct GotifyError: Error, Hashable, Sendable {
  var status: Status
  let text: String
  var retryAfter: Int?

  static let unauthorized = GotifyError(
    status: .unauthorized, text: "you need to provide a valid access token or user credentials")
  static let notFound = GotifyError(status: .notFound, text: "there is no such object")

  static func bad(_ text: String) -> GotifyError { GotifyError(status: .badRequest, text: text) }

  var json: [UInt8] {
    JSONValue.object([
      "error": .text("\(status.reason)"), "errorCode": .integer(status.code),
      "errorDescription": .text(text),
    ]).bytes
  }

  /// The response. It has no `WWW-Authenticate`, for which browsers would show a dialogue.
  var response: Response {
    var response = Response(status, body: .array(json))
    response.fields.append(.contentType, "application/json")
    if let retryAfter { response.fields.append(.retryAfter, "\(retryAfter)") }
    return response
  }

  /// Makes the error of a refusal; nil for an error that is no client's.
  init?(refusing error: any Error) {
    switch error {
    case let error as GotifyError: self = error
    case let fault as FieldError: self = .bad(fault.sentence)
    case RequestRefusal.forbidden, RequestRefusal.denied, TopicRefusal.unauthorized,
      TopicRefusal.forbidden:
      self = .unauthorized
    case RequestRefusal.tooMany(let seconds), TopicRefusal.tooManyRequests(let seconds),
      TopicRefusal.tooManyFailures(let seconds), RequestRefusal.tooManyStreams(let seconds):
      self.init(status: .tooManyRequests, text: "too many requests", retryAfter: seconds)
    case RequestRefusal.busy, TopicRefusal.busy:
      self.init(status: .serviceUnavailable, text: "the server is busy", retryAfter: 1)
    case RequestRefusal.tooManyContacts:
      self = .bad("the account has as many of these as it may have")
    default: return nil
    }
  }

  /// Makes the error of a request that no handler gets.
  init(answering error: HTTPError) {
    self.init(status: error.status, text: error.message)
  }

  init(status: Status, text: String, retryAfter: Int? = nil) {
    self.status = status
    self.text = text
    self.retryAfter = retryAfter
  }
}
