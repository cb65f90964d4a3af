internal import HTTPClient
internal import HTTPProtocol
internal import Formats
internal import Observability
internal import Platform

/// Google's push service, FCM HTTP v1.
final class FCMProvider: PushProvider {
  private let configuration: FCMConfiguration
  private let url: String
  private let client: HTTPClient
  private let tokens: AccessTokens
  private let clock: @Sendable () -> Timestamp

  let target: String

  /// Makes a provider, which connects with the first push.
  ///
  /// - Parameters:
  ///   - configuration: the section.
  ///   - streams: the most pushes under way.
  ///   - clock: tells the time.
  ///   - metrics: counts grants.
  /// - Throws: ``PushSetupError`` if the service account can't be read, or ``HTTPClientError``.
  init(
    _ configuration: FCMConfiguration, streams: Int, clock: @escaping @Sendable () -> Timestamp,
    metrics: Metrics
  ) throws {
    let account = try ServiceAccount(configuration)
    (self.configuration, self.clock) = (configuration, clock)
    url = "\(configuration.url)/v1/projects/\(account.project)/messages:send"
    target = "\(configuration.url) \(account.project)"
    var options = HTTPClientOptions()
    options.timeout = .seconds(10)
    options.bodyLimit = 16 << 10
    options.streamsPerConnection = streams
    if !configuration.roots.isEmpty { options.certificateAuthorities = configuration.roots }
    client = try HTTPClient(options)
    tokens = AccessTokens(
      of: account, at: configuration.tokenURL, client: client, clock: clock, metrics: metrics)
  }

  /// Reads the service account again; blocks on the disk. The project stays.
  ///
  /// - Throws: ``PushSetupError``; then the former one stays.
  func reload() async throws { await tokens.replace(by: try ServiceAccount(configuration)) }

  func push(_ push: Push, _ payload: PushPayload) async -> PushOutcome {
    guard case .fcm(let data, let more) = payload else { return .forbidden("no message of FCM") }
    let token: String
    do throws(PushSetupError) { token = try await tokens.current() } catch {
      return .unreachable("no access token: \(error.message)")
    }
    let begun = clock()
    let body = Self.message(push, data, more, at: begun)
    var request = OutgoingRequest(url, json: body)
    request.fields.append(.authorization, "Bearer \(token)")
    do throws(HTTPClientError) {
      let answer = try await client.send(request)
      let fault = FCMFault(json: answer.body)
      let response = PushResponse(
        status: Int(answer.status.code), reason: fault.code, timestamp: begun,
        retryAfter: answer.retryAfter(now: clock()), isOfToken: fault.isOfToken)
      if response.status == 401, response.reason == nil { await tokens.discard(token) }
      return .responded(response)
    } catch { return PushOutcome(error) }
  }

  /// Returns the body of a request, in UTF-8.
  static func message(_ push: Push, _ data: [UInt8], _ more: String, at now: Timestamp) -> [UInt8] {
    let priority = push.urgency == .low ? "NORMAL" : "HIGH"
    let key = push.collapseKey.map { #","collapse_key":"\#($0.escapedInJSON)""# } ?? ""
    let life = #""ttl":"\#(push.secondsLeft(at: now))s""#
    return Array(#"{"message":{"token":"\#(push.address.text)","data":"#.utf8) + data
      + Array(#","android":{"priority":"\#(priority)",\#(life)\#(key)}\#(more)}}"#.utf8)
  }
}
