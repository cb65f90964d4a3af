internal import Budgets
internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import Routing

// What an account may do and has done, and its tokens.
extension NtfyRoutes {
  /// Returns what an account, or an address without one, may do and has done: some clients need all of the numbers.
  func account(of requester: TopicRequester) async throws -> JSONValue {
    try topics.chargeReading(requester)
    let name = requester.caller.account
    let limits = topics.configuration
    let isOpen = name == nil
    let age = isOpen ? limits.openAge : limits.age
    let fileAge = isOpen ? limits.openAttachmentAge : limits.attachmentAge
    let messages = Int(86_400_000 / max(1, limits.publishing.refill.milliseconds))
    let sent = topics.statistics.messages(of: requester.limitKey)
    let room = isOpen ? limits.attachmentsPerAddress : limits.attachmentsPerAccount
    let kept = try await topics.store.fileBytes(of: requester)
    return .object([
      "username": .text(name?.text ?? "*"),
      "role": .text(isOpen ? "anonymous" : "user"),
      "limits": .object([
        "basis": .text("ip"),
        "messages": .integer(messages),
        "messages_expiry_duration": .integer(age.milliseconds / 1000),
        "emails": .integer(0),
        "calls": .integer(0),
        "reservations": .integer(0),
        "attachment_total_size": .integer(room),
        "attachment_file_size": .integer(limits.attachmentBytes),
        "attachment_expiry_duration": .integer(fileAge.milliseconds / 1000),
        "attachment_bandwidth": .integer(limits.bandwidth),
      ]),
      "stats": .object([
        "messages": .integer(sent),
        "messages_remaining": .integer(max(0, messages - sent)),
        "emails": .integer(0),
        "emails_remaining": .integer(0),
        "calls": .integer(0),
        "calls_remaining": .integer(0),
        "reservations": .integer(0),
        "reservations_remaining": .integer(0),
        "attachment_total_size": .integer(kept),
        "attachment_total_size_remaining": .integer(max(0, room - kept)),
      ]),
    ])
  }

  func makeToken(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let requester = try await requester(request)
    guard case .account(let name) = requester.caller else { throw TopicRefusal.forbidden }
    let json = request.body.isEmpty ? nil : PublicationReader.json(of: request)
    guard request.body.isEmpty || json?.members != nil else { throw NtfyError.badJSON }
    let label = json?["label"]?.string ?? ""
    let expires = json?["expires"]?.integer ?? 0
    let lifetime = expires > 0 ? Duration.seconds(max(1, expires - topics.now.seconds)) : nil
    let token = BearerToken(.ntfy, randomBytes: topics.service.randomBytes)
    let suffix = RandomText.make(4, randomBytes: topics.service.randomBytes)
    let base = PlainText.line(label).filter { $0 != "/" }
    var new = NewPublisher(name: base.isEmpty ? "ntfy-\(suffix)" : "\(base.prefix(40))-\(suffix)")
    new.topics = .all
    new.reads = true
    new.lifetime = lifetime
    try await topics.service.store.addPublisher(new, of: name, token.hash) { [topics] transaction in
      try topics.store.requireGood(requester.credential, transaction)
    }
    return Self.json(
      .object([
        "token": .text(token.text), "label": .text(label), "expires": .integer(expires),
        "last_access": .integer(topics.now.seconds),
      ]))
  }
}
