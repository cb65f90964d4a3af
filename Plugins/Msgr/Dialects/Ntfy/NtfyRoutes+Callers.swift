internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import Routing

// Who asks, and who publishes.
extension NtfyRoutes {
  /// Finds out who asks: by `Authorization`, or by `auth` in the query, which has the whole field's value in base64url.
  func requester(_ request: Request) async throws -> TopicRequester {
    try await topics.requester(Self.credentials(request.head), from: request.origin.client)
  }

  /// Finds out who publishes.
  func publisher(_ request: Request) async throws -> TopicRequester {
    try await topics.publisher(Self.credentials(request.head), from: request.origin.client)
  }

  private static func credentials(_ head: RequestHead) -> GivenCredentials {
    if let field = head.first(.authorization) { return GivenCredentials(authorization: field) }
    let pairs = head.query.map { URLEncodedForm(lenient: $0).pairs } ?? []
    let names = ["auth", "authorization"]
    guard let text = pairs.first(where: { names.contains($0.name.lowercased()) })?.value,
      !text.isEmpty
    else { return .nothing }
    guard let value = Base64URL.decode(text) else { return .malformed }
    return GivenCredentials(authorization: value)
  }
}
