internal import Cryptography
internal import HTTPClient
internal import HTTPProtocol
internal import Formats
internal import Platform

/// The push services of browsers and of UnifiedPush's distributors (RFC 8030), each named by its subscriptions.
final class WebPushProvider: PushProvider {
  /// The lifetime of a token, whose last hour isn't used.
  private static let tokenLifetime = Duration.seconds(12 * 3600)
  private static let timeToLive = FieldName("TTL")
  private static let urgency = FieldName("Urgency")

  /// Reaches public addresses only.
  private let client: HTTPClient
  /// Reaches the hosts that the operator has allowed, wherever they are.
  private let ownClient: HTTPClient
  private let allowed: Set<HostAndPort>
  /// The tokens of RFC 8292.
  private let tokens: PushTokens
  private let publicKey: String
  let load = PushServiceLoad()
  private let clock: @Sendable () -> Timestamp
  private let randomBytes: @Sendable (Int) -> [UInt8]

  let target = "web"

  /// Makes a provider, which connects with the first push.
  ///
  /// - Parameters:
  ///   - configuration: the section.
  ///   - pair: the key that pushes are signed with.
  ///   - publicURL: the server's URL as seen from outside, if it is known.
  ///   - clock: tells the time.
  ///   - randomBytes: gives random bytes.
  /// - Throws: ``PushSetupError``, or ``HTTPClientError``.
  init(
    _ configuration: WebPushConfiguration, _ pair: P256KeyPair, publicURL: String?,
    clock: @escaping @Sendable () -> Timestamp, randomBytes: @escaping @Sendable (Int) -> [UInt8]
  ) throws {
    guard let key = SigningKey(pair) else {
      throw PushSetupError(message: "\(configuration.key): OpenSSL can't use the key")
    }
    let contact = configuration.contact ?? publicURL
    let subject = contact.map { #","sub":"\#($0.escapedInJSON)""# } ?? ""
    tokens = PushTokens(
      key, header: ["typ": "JWT"], lifetime: Self.tokenLifetime - .seconds(3600), clock: clock
    ) { origin, now in
      let end = now + Self.tokenLifetime
      return #"{"aud":"\#(origin.escapedInJSON)","exp":\#(end.seconds)\#(subject)}"#
    }
    publicKey = Base64URL.encode(pair.publicKey.bytes)
    var options = HTTPClientOptions()
    // An attempt ends before its lease does.
    options.connectTimeout = .seconds(5)
    options.timeout = .seconds(14)
    options.bodyLimit = 4096
    options.connectionsPerHost = 2
    options.reach = .publicAddresses
    client = try HTTPClient(options)
    options.reach = .anyAddress
    if !configuration.roots.isEmpty { options.certificateAuthorities = configuration.roots }
    ownClient = try HTTPClient(options)
    allowed = configuration.allowed
    (self.clock, self.randomBytes) = (clock, randomBytes)
  }

  func push(_ push: Push, _ payload: PushPayload) async -> PushOutcome {
    guard let subscription = WebPushSubscription(push.address), case .web(let text) = payload else {
      return .forbidden("there is no subscription")
    }
    let owner = PushOwner(push)
    guard let place = load.begin(subscription.endpoint.origin, for: owner) else {
      return .postponed
    }
    guard let request = request(push, text, to: subscription) else {
      load.end(place, speaksHTTP2: nil)
      return .disconnected
    }
    let client = allowed.contains(subscription.endpoint.authority) ? ownClient : client
    do {
      let response = try await place.perform { try await client.send(request) }
      load.end(place, speaksHTTP2: response.version == .http2)
      return .responded(PushResponse(response, now: clock()))
    } catch {
      load.end(place, speaksHTTP2: nil)
      guard !place.isLost else { return .postponed }
      let error = error as? HTTPClientError
      return switch error?.code {
      case .cancelled: .cancelled
      case .forbiddenAddress, .invalidRequest: .forbidden(error?.message ?? "")
      default: .disconnected
      }
    }
  }

  private func request(
    _ push: Push, _ text: [UInt8], to subscription: WebPushSubscription
  ) -> OutgoingRequest? {
    guard let pair = try? P256KeyPair(),
      let body = WebPushEncryption.encrypt(
        text, for: subscription, with: pair, salt: randomBytes(16)),
      let token = tokens.token(for: subscription.endpoint.origin)
    else { return nil }
    var fields = HeaderFields()
    // Without a blank behind the comma, which some push services don't expect there.
    fields.append(.authorization, "vapid t=\(token),k=\(publicKey)")
    fields.append(.contentEncoding, "aes128gcm")
    fields.append(.contentType, "application/octet-stream")
    fields.append(Self.timeToLive, String(push.secondsLeft(at: clock())))
    fields.append(Self.urgency, push.urgency == .low ? "low" : "high")
    if let key = push.collapseKey { fields.append(FieldName("Topic"), key) }
    return OutgoingRequest(.post, subscription.endpoint.text, fields: fields, body: body)
  }
}
