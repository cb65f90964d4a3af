internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import Routing

// The stream of new messages.
extension GotifyRoutes {
  /// Returns whether a handshake at the path of Msgr's stream is Gotify's.
  static func isGotifyStream(_ head: RequestHead) -> Bool { ownToken(head) != nil }

  /// Accepts a stream, which brings each new published message.
  func acceptStream(_ request: Request) async throws -> WebSocketAcceptance {
    do {
      guard let token = Self.token(request.head) else { throw GotifyError.unauthorized }
      let hash = BearerToken.hash(ofText: Array(token.utf8))
      guard let session = try await service.store.boundToken(hash), session.device.isGotify else {
        throw GotifyError.unauthorized
      }
      let client = request.origin.client
      let beginning = try await WorkOwner.$current.withValue(WorkOwner(client: client)) {
        try await service.beginStream(hash, since: nil, from: client)
      }
      let account = session.name
      let names = try await service.store.shownNames(of: account)
      var acceptance = WebSocketAcceptance { [service] socket in
        MessageStream(socket, service, beginning) { message in
          GotifyMessage.json(of: message, for: account, names).bytes
        }
      }
      acceptance.limits.maximumMessage = 4096
      acceptance.lowWaterMark = MessageStream.lowWaterMark
      acceptance.highWaterMark = 2 << 20
      acceptance.limits.pingInterval = min(streamPing, .seconds(45))
      return acceptance
    } catch {
      guard let failure = GotifyError(refusing: error) else { throw error }
      var refusal = HTTPError(failure.status, failure.text)
      refusal.json = failure.json
      throw refusal
    }
  }
}
