internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import Routing

// Who asks: a client or an application by its token, or an account by its password.
extension GotifyRoutes {
  static let key = FieldName("X-Gotify-Key")

  /// The account that requests, and the client by whose token, if by one.
  struct GotifyCaller: Sendable {
    let account: UserName
    let credential: TopicCredential
    /// The client's token as it was shown.
    let token: String?
    var hash: TokenHash? { token.map { BearerToken.hash(ofText: Array($0.utf8)) } }
  }

  /// Finds a token where only Gotify's clients put it: in the query, or in a field of their own. An empty one is none.
  static func ownToken(_ head: RequestHead) -> String? {
    let inQuery = head.query.flatMap { URLEncodedForm(lenient: $0)["token"] }
    return [inQuery, head.value(key)].lazy.compactMap(\.self).first { !$0.isEmpty }
  }

  /// Finds the token of a request, in the order in which they count: query, field of its own, bearer.
  static func token(_ head: RequestHead) -> String? {
    if let token = ownToken(head) { return token }
    guard let field = head.value(.authorization), field.lowercased().hasPrefix("bearer ") else {
      return nil
    }
    return field.dropFirst("bearer ".count).trimmingBlanks
  }

  /// Finds the token that a program publishes with, which may also be the password of the scheme Basic.
  static func shownToken(_ head: RequestHead) -> TokenHash? {
    if let token = token(head) { return BearerToken.hash(ofText: Array(token.utf8)) }
    guard let field = head.first(.authorization) else { return nil }
    return switch GivenCredentials(authorization: field) {
    case .nothing, .malformed: nil
    case .token(let hash): hash
    case .account(_, let secret): BearerToken.hash(ofText: Array(secret.utf8))
    }
  }

  /// Finds out who asks: a client by its token, or an account by name and password.
  func caller(_ request: Request) async throws -> GotifyCaller {
    let network = request.origin.client
    if let token = Self.token(request.head) {
      let requester = try await topics.requester(
        .token(BearerToken.hash(ofText: Array(token.utf8))), from: network)
      guard case .account(let name) = requester.caller else { throw GotifyError.unauthorized }
      try topics.chargeReading(requester)
      return GotifyCaller(account: name, credential: requester.credential, token: token)
    }
    guard let field = request.head.first(.authorization) else { throw GotifyError.unauthorized }
    let requester = try await topics.requester(
      GivenCredentials(authorization: field), from: network)
    guard case .account(let name) = requester.caller else { throw GotifyError.unauthorized }
    try topics.chargeReading(requester)
    return GotifyCaller(account: name, credential: requester.credential, token: nil)
  }
}
