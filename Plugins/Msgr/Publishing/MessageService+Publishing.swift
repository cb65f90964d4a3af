internal import Budgets
internal import MsgrMessages
internal import ServiceKit

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
      try await store.addPublisher(name, to: recipients, of: caller, token.hash)
    }
    return token
  }

  /// Publishes a message.
  ///
  /// - Parameters:
  ///   - publication: the message.
  ///   - token: the hash of the publisher's token.
  ///   - only: the only one of its recipients, or nil for all of them.
  /// - Returns: the identifier of the message in the inbox of the first recipient by name.
  func publish(
    _ publication: Publication, with token: TokenHash, to only: UserName?
  ) async throws -> MessageID {
    guard let (publisher, all) = try await store.publisher(token) else {
      throw RequestRefusal.forbidden
    }
    let recipients = only.map { name in all.filter { $0 == name } } ?? all
    guard !recipients.isEmpty else { throw RequestRefusal.forbidden }
    guard publication.text.fitsIntoPush(from: publisher.sender, with: publication.extras) else {
      throw RequestRefusal.tooLong
    }
    try chargePublication(publisher, recipients.count)
    let deliveries = try await store.publish(
      publication, by: publisher,
      to: recipients.map { ($0, hub.devices(of: $0)) })
    for (name, delivery) in deliveries where delivery.isStored {
      await announce(delivery, to: name)
    }
    return deliveries.first?.delivery.id ?? .zero
  }

  /// Counts a message by its publisher, and its copies by the publisher's owner.
  private func chargePublication(
    _ publisher: Publisher, _ copies: Int
  ) throws(RequestRefusal) {
    if let wait = sent.count(publisher.hash, upTo: Self.publicationsPerMinute) {
      throw .tooMany(retryAfter: wait)
    }
    if let wait = sent.count(publisher.owner, amount: copies, upTo: messagesPerMinute) {
      throw .tooMany(retryAfter: wait)
    }
  }
}
