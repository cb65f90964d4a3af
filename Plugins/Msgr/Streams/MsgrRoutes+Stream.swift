internal import HTTPProtocol
internal import HTTPServer
internal import Routing
internal import Storage

extension MsgrRoutes {
  /// The subprotocol of browsers, whose pages can't give a stream an `Authorization` field.
  private static let subprotocol = "msgr.1"
  /// The start of the offered subprotocol that is no other than the token.
  private static let tokenPrefix = "bearer."

  /// Accepts a stream, or throws the error that refuses it.
  func acceptStream(_ request: Request) async throws -> WebSocketAcceptance {
    _ = try origins.check(request.head)
    do {
      let offers = Self.offers(request.head)
      guard let hash = Self.token(request.head, offers) else { throw RequestRefusal.forbidden }
      let client = request.origin.client
      let position: MessageID?
      do {
        position = try Self.position(request)
      } catch {
        try await service.confirm(.token(hash, claiming: nil))
        throw error
      }
      let beginning = try await WorkOwner.$current.withValue(WorkOwner(client: client)) {
        try await service.beginStream(hash, since: position, from: client)
      }
      var acceptance = WebSocketAcceptance { [service] session in
        MessageStream(session, service, beginning)
      }
      if offers.contains(Self.subprotocol) { acceptance.subprotocol = Self.subprotocol }
      acceptance.limits.maximumMessage = Self.messageLimit
      acceptance.lowWaterMark = MessageStream.lowWaterMark
      acceptance.highWaterMark = 2 << 20
      acceptance.limits.pingInterval = streamPing
      return acceptance
    } catch { throw HTTPError(refusing: error) ?? error }
  }

  private static func offers(_ head: RequestHead) -> [String] {
    (head.value(.secWebSocketProtocol) ?? "").split { ", \t".contains($0) }.map(String.init)
  }

  /// Finds the token: in `Authorization`, or among the subprotocols if the one for that is offered too.
  private static func token(_ head: RequestHead, _ offers: [String]) -> TokenHash? {
    if let field = head.first(.authorization) { return BearerToken.hash(inAuthorization: field) }
    guard offers.contains(subprotocol),
      let offer = offers.first(where: { $0.hasPrefix(tokenPrefix) })
    else { return nil }
    return BearerToken.hash(ofDigits: Array(offer.utf8.dropFirst(tokenPrefix.utf8.count)))
  }

  /// Returns the message after which the query says that the stream begins.
  private static func position(_ request: Request) throws(FieldError) -> MessageID? {
    guard let query = request.head.query else { return nil }
    guard let form = URLEncodedForm(query) else { throw FieldError(.since, "is malformed") }
    return try form["since"].map { text throws(FieldError) in
      try MessageID(text, in: .since)
    }
  }
}
