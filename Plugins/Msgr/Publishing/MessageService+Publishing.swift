internal import Budgets
internal import Formats

/// The limits of publishing, and what has been used of them on this node.
struct PublishingLimits: Sendable {
  /// The longest text, in bytes.
  let messageBytes: Int
  /// How often a token publishes.
  let rate: RefillTable.Rate
  let used: RefillTable
}

extension MessageService {
  /// Makes a token that can do nothing but publish.
  func makePublisher(
    _ new: NewPublisher, form: BearerToken.Form, by credentials: Credentials
  ) async throws -> BearerToken {
    let token = BearerToken(form, randomBytes: randomBytes)
    try await authenticator.perform(as: credentials) { caller in
      try await countingRefusals(of: caller) {
        try await store.addPublisher(new, of: caller, token.hash)
      }
    }
    return token
  }

  /// Finds the publisher of a token. A wrong one counts as a failed login of the client's network.
  ///
  /// - Returns: the publisher, and those whom it may send to.
  func publisher(
    showing token: TokenHash?, from network: ClientNetwork?
  ) async throws -> (publisher: PublisherToken, recipients: [UserName]) {
    guard let token else { throw RequestRefusal.forbidden }
    return try await passwords.counting(UserName(stored: "a token"), from: network) {
      guard let found = try await store.publisher(token) else { throw RequestRefusal.forbidden }
      return found
    }
  }

  /// Publishes a message to inboxes.
  ///
  /// - Parameter clientID: the client's own name for the message, by which a retry is known.
  func publish(
    _ publication: Publication, by publisher: PublisherToken, to recipients: [UserName],
    as clientID: ClientID? = nil
  ) async throws -> PublishedID {
    guard !recipients.isEmpty else { throw RequestRefusal.forbidden }
    try chargePublication(by: publisher, copies: recipients.count)
    let (receipts, first) = try await store.publish(
      publication, by: publisher, to: recipients, as: clientID)
    for receipt in receipts { publishEffects(receipt) }
    return first
  }

  /// Counts a message by its publisher, and its copies by the publisher's owner.
  private func chargePublication(
    by publisher: PublisherToken, copies: Int
  ) throws(RequestRefusal) {
    if let wait = publishing.used.use(publisher.hash, at: publishing.rate) {
      throw .tooMany(retryAfter: wait)
    }
    if let wait = sent.count(publisher.owner, amount: copies, upTo: messagesPerMinute) {
      throw .tooMany(retryAfter: wait)
    }
  }

  /// Validates what a program gave.
  func validated(_ fields: PublicationFields) throws(FieldError) -> Publication {
    try fields.publication(upTo: publishing.messageBytes) { count in
      RandomText.make(count, randomBytes: randomBytes)
    }
  }
}
