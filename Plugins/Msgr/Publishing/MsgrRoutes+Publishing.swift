internal import FoundationEssentials
internal import HTTPProtocol
internal import Routing

extension MsgrRoutes {
  private static let gotifyKey = FieldName("X-Gotify-Key")

  /// Registers the requests of programs that publish.
  func registerPublishing(on router: inout Router) {
    post("/tokens", on: &router) { call in
      let fields = call.fields
      let token = try await service.makePublisher(
        try fields.publisherName(),
        to: try fields.names(.to, atMost: MsgrStore.publisherRecipients),
        by: try call.credentials())
      return ["Token": token.text]
    }
    post("/publish", handling: &router) { request, _ in
      try await publish(request, to: nil)
    }
    post("/publish/{name}", handling: &router) { request, parameters in
      try await publish(request, to: parameters.text("name") ?? "")
    }
  }

  /// Publishes a message.
  ///
  /// - Parameters:
  ///   - request: the message, and the token that may send it.
  ///   - name: the only recipient, or nil for all of the token's.
  func publish(_ request: Request, to name: String?) async throws -> [UInt8] {
    guard let token = Self.publisherToken(request.head),
      let (publisher, recipients) = try await service.store.publisher(token)
    else { throw RequestRefusal.forbidden }
    let only = try name.map { try UserName($0, in: .to) }
    let id = try await service.publish(
      try PublicationReader.read(request), by: publisher,
      to: recipients.filter { only == nil || only == $0 })
    return Array(#"{"Id":"\#(id.text)"}"#.utf8)
  }

  /// Finds a publisher's token: as bearer token, as password without a user, or as Gotify's clients send it.
  ///
  /// - Returns: nil if there is none.
  static func publisherToken(_ head: RequestHead) -> TokenHash? {
    head.first(.authorization).flatMap { BearerToken.hash(inAuthorization: $0) ?? basicToken($0) }
      ?? gotifyToken(head)
  }

  /// Finds a token where only Gotify's clients put it.
  static func gotifyToken(_ head: RequestHead) -> TokenHash? {
    if let key = head.first(gotifyKey) { return BearerToken.hash(ofDigits: key) }
    guard let query = head.query, let token = URLEncodedForm(query)?["token"] else { return nil }
    return BearerToken.hash(ofDigits: Array(token.utf8))
  }

  /// Reads the credentials of the scheme Basic (RFC 7617) with an empty user.
  private static func basicToken(_ field: ArraySlice<UInt8>) -> TokenHash? {
    let text = String(decoding: field, as: UTF8.self)
    guard text.lowercased().hasPrefix("basic "),
      let pair = Data(base64Encoded: String(text.dropFirst("basic ".count))),
      pair.first == UInt8(ascii: ":")
    else { return nil }
    return BearerToken.hash(ofDigits: Array(pair.dropFirst()))
  }
}
