internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Routing

// Publishing, and telling its requests from those that Msgr has at the same path.
extension GotifyRoutes {
  /// Publishes a message by an application's token, or by a client's and the application's number.
  func publish(_ request: Request) async throws -> Response {
    try await answering(request) {
      let publisher = try await publisher(request)
      // Names may be written with capitals, but a request of Msgr's own, with a recipient, is not taken for one of Gotify's.
      if Self.namesRecipient(request.body), let json = PublicationReader.json(of: request),
        json[FieldID.userTo.rawValue] != nil, json["message"] == nil
      {
        throw GotifyError.bad("message is missing")
      }
      var reading = try PublicationReader.read(request, isGotifys: true)
      Self.complete(&reading.fields, with: request.head)
      let (name, priority) = try await service.store.described(publisher.token)
      guard let message = reading.fields.message, !message.isEmpty else {
        throw GotifyError.bad("message is missing")
      }
      var publication = try service.validated(reading.fields)
      if publication.parts.priority == nil, priority > 0 { publication.parts.priority = priority }
      let published = try await service.publish(
        publication, by: publisher.token, to: publisher.recipients,
        as: try reading.clientID.map { text throws(FieldError) in try ClientID(text) })
      let json = GotifyMessage.json(
        id: published.number, sender: publisher.token.sender, named: name.isEmpty ? nil : name,
        for: publisher.token.owner, text: publication.text.text, parts: publication.parts,
        time: published.time ?? service.store.now)
      guard !publication.notes.isEmpty, let members = json.members else { return Self.json(json) }
      let notes = JSONValue.list(publication.notes.map { .text($0) })
      return Self.json(.object(members + [JSONValue.Member("notes", notes)]))
    }
  }

  private func publisher(
    _ request: Request
  ) async throws -> (token: PublisherToken, recipients: [UserName]) {
    guard let hash = Self.shownToken(request.head) else { throw GotifyError.unauthorized }
    if let session = try await service.store.boundToken(hash), session.device.isGotify {
      return try await publisher(ofClient: session.name, request)
    }
    let found = try await service.publisher(showing: hash, from: request.origin.client)
    return (found.publisher, found.recipients)
  }

  /// Finds the application that a client names.
  private func publisher(
    ofClient account: UserName, _ request: Request
  ) async throws -> (token: PublisherToken, recipients: [UserName]) {
    let query = request.head.query.map { URLEncodedForm(lenient: $0) }
    let inQuery = query?["appid"].flatMap { Int64($0) }
    let number = try inQuery ?? PublicationReader.read(request, isGotifys: true).appID
    let applications = try await service.store.applications(of: account)
    guard let number else { throw GotifyError.bad("appid is missing") }
    guard let hash = applications.first(where: { $0.id == number })?.publisher,
      let found = try await service.store.publisher(hash)
    else { throw GotifyError.notFound }
    return (found.publisher, found.recipients)
  }

  /// Fills in what the query says.
  private static func complete(_ fields: inout PublicationFields, with head: RequestHead) {
    guard let query = head.query else { return }
    let form = URLEncodedForm(lenient: query)
    fields.message = fields.message ?? form["message"]
    fields.title = fields.title ?? form["title"]
    fields.priority = fields.priority ?? form["priority"]
    if fields.extras == nil, let text = form["extras"] {
      fields.read(extras: JSONValue(parsing: Array(text.utf8)))
    }
  }

  /// Returns whether a message looks like one by Msgr's own clients, which saves a look into the store for each: it names a
  /// recipient, and shows the token of a session or none.
  func isProbablyMsgrs(_ request: Request) -> Bool {
    let head = request.head
    guard head.query == nil, head.first(Self.key) == nil else { return false }
    if let field = head.first(.authorization) {
      let form = BearerToken.Form.session
      let prefix = "Bearer "
      guard field.count == prefix.utf8.count + form.length, field.starts(with: prefix.utf8) else {
        return false
      }
    }
    return Self.namesRecipient(request.body)
  }

  /// Returns whether a body has Msgr's field of recipients.
  private static func namesRecipient(_ body: [UInt8]) -> Bool {
    let field = recipientsField
    guard body.count >= field.count else { return false }
    return (0...(body.count - field.count)).contains { start in
      body[start + 1] == field[1] && body[start..<(start + field.count)].elementsEqual(field)
    }
  }

  private static let recipientsField = Array("\"\(FieldID.userTo.rawValue)\"".utf8)

  /// Returns whether a request to a path that Msgr has too is Gotify's.
  func isGotify(_ request: Request) async throws -> Bool {
    let head = request.head
    if Self.ownToken(head) != nil { return true }
    guard let field = head.first(.authorization) else { return false }
    switch GivenCredentials(authorization: field) {
    case .nothing, .malformed: return false
    case .token(let hash): return try await isGotify(hash)
    case .account(_, let secret):
      return try await isGotify(BearerToken.hash(ofText: Array(secret.utf8)))
    }
  }

  private func isGotify(_ hash: TokenHash) async throws -> Bool {
    if let session = try await service.store.boundToken(hash) { return session.device.isGotify }
    return try await service.store.publisher(hash) != nil
  }
}
