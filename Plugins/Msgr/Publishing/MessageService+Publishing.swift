internal import Budgets

extension MessageService {
  /// The messages of a publisher in a minute.
  private static let publicationsPerMinute = 60

  /// Makes a token that can do nothing but publish.
  ///
  /// - Parameters:
  ///   - name: a name that tells it from the caller's others.
  ///   - recipients: the users whom it may send to; none for the caller alone.
  ///   - credentials: the caller's.
  func makePublisher(
    _ name: String, to recipients: [UserName], by credentials: Credentials
  ) async throws -> BearerToken {
    let token = BearerToken(randomBytes(32))
    try await authenticator.perform(as: credentials) { caller in
      try await countingRefusals(of: caller) {
        try await store.addPublisher(name, to: recipients, of: caller, token.hash)
      }
    }
    return token
  }

  /// Publishes a message.
  ///
  /// - Parameters:
  ///   - publication: the message.
  ///   - publisher: the publisher.
  ///   - recipients: the token's recipients whom the message is for.
  /// - Returns: the identifier of the message in the inbox of the first recipient by name.
  func publish(
    _ publication: Publication, by publisher: Publisher, to recipients: [UserName]
  ) async throws -> MessageID {
    guard !recipients.isEmpty else { throw RequestRefusal.forbidden }
    guard publication.text.fitsIntoPush(from: publisher.sender, with: publication.extras) else {
      throw RequestRefusal.tooLong
    }
    try chargePublication(publisher, recipients.count)
    let deliveries = try await store.publish(publication, by: publisher, to: recipients)
    for delivery in deliveries { announce(delivery) }
    return deliveries.first?.id ?? .zero
  }

  /// Counts a message by its publisher, and its copies by the publisher's owner.
  private func chargePublication(_ publisher: Publisher, _ copies: Int) throws(RequestRefusal) {
    if let wait = sent.count(publisher.hash, upTo: Self.publicationsPerMinute) {
      throw .tooMany(retryAfter: wait)
    }
    if let wait = sent.count(publisher.owner, amount: copies, upTo: messagesPerMinute) {
      throw .tooMany(retryAfter: wait)
    }
  }
}
