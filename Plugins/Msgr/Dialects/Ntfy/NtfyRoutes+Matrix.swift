internal import Formats
internal import HTTPProtocol
internal import Platform
internal import Routing

// UnifiedPush's gateway for Matrix: a homeserver posts what it would send to Apple or Google.
extension NtfyRoutes {
  private static let path = "/_matrix/push/v1/notify"

  func registerMatrix(on router: inout Router) {
    router.get(Self.path) { _, _ in
      var response = Self.json(
        .object(["unifiedpush": .object(["gateway": .text("matrix")])]))
      if topics.configuration.hasCORS { response.fields.append(Self.allowOrigin, "*") }
      return response
    }
    router.post(Self.path, bodyLimit: 64 << 10) { request, _ in
      var response: Response
      do { response = try await notify(request) } catch {
        guard let failure = NtfyError(refusing: error) else { throw error }
        response = failure.response
      }
      if topics.configuration.hasCORS { response.fields.append(Self.allowOrigin, "*") }
      return response
    }
  }

  private func notify(_ request: Request) async throws -> Response {
    guard let json = JSONValue(parsing: request.body),
      let key = json["notification"]?["devices"]?.elements?.first?["pushkey"]?.string
    else { throw NtfyError.badJSON }
    let prefix = topics.baseURL(of: request) + "/"
    guard key.hasPrefix(prefix) else { return Self.rejected([key]) }
    let path = key.dropFirst(prefix.count).prefix { $0 != "?" }
    guard let name = TopicName(String(path)) else { return Self.rejected([key]) }
    let requester = TopicRequester(
      caller: .nobody, credential: .nothing, site: request.origin.client.map { "\($0)" })
    try topics.chargePublishing(requester)
    guard request.body.count <= NtfyPublishRequest.longestUnifiedPush else {
      throw NtfyError.tooLarge
    }
    do {
      _ = try await topics.publish(unifiedPush: request.body, to: name, by: requester)
    } catch TopicRefusal.forbidden {
      // Nobody may write there, or there is no such topic yet: the phone may be on its way.
      throw NtfyError.noSubscriber
    }
    return Self.rejected([])
  }

  private static func rejected(_ keys: [String]) -> Response {
    json(.object(["rejected": .list(keys.map { .text($0) })]))
  }
}
