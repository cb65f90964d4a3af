package import Platform

internal import Cryptography
internal import Formats
internal import HTTPClient
internal import HTTPProtocol

/// Apple's push service, over HTTP/2.
final class APNsProvider: PushProvider {
  private let client: WebClient
  private let url: String
  private let topic: String
  private let tokens: PushTokens?
  private let clock: @Sendable () -> Timestamp

  let target: String

  /// Makes a provider, which connects with the first push.
  ///
  /// - Parameters:
  ///   - configuration: the service's URLs, topic and credentials.
  ///   - isSandbox: whether it is the one for apps that are being made.
  /// - Throws: ``PushSetupError`` if the key can't be read, or ``HTTPClientError``.
  init(
    _ configuration: APNsConfiguration, isSandbox: Bool = false, streams: Int,
    clock: @escaping @Sendable () -> Timestamp
  ) throws {
    url = isSandbox ? configuration.sandboxURL : configuration.url
    topic = configuration.topic
    target = "\(url) \(topic)"
    self.clock = clock
    var options = HTTPClientOptions()
    // An attempt ends before its lease does.
    options.timeout = .seconds(10)
    options.bodyLimit = 4096
    options.cutsLongBodies = true
    options.connectionsPerHost = 1
    options.streamsPerConnection = streams
    if !configuration.roots.isEmpty { options.certificateAuthorities = configuration.roots }
    switch configuration.credentials {
    case .token(let path, let keyID, let teamID):
      guard let key = SigningKey(try P256KeyPair.read(from: path)) else {
        throw PushSetupError(message: "\(path): OpenSSL can't use the key")
      }
      // Apple accepts one for an hour, and not more than one in 20 minutes.
      tokens = PushTokens(
        key, header: ["kid": keyID], lifetime: .seconds(45 * 60), clock: clock
      ) { _, now in
        JSONWriter.text { claims in
          claims["iss"] = teamID
          claims["iat"] = now.seconds
        }
      }
    case .certificate(let certificate, let key):
      tokens = nil
      options.clientCertificate = (certificate, key)
    }
    client = try WebClient(options)
  }

  func refreshCredentials() { tokens?.refresh() }

  func push(_ push: LeasedPush, _ payload: PushPayload) async -> PushOutcome {
    guard case .apns(let body, let type, let priority) = payload else {
      return .forbidden("no payload of Apple's")
    }
    var fields = HeaderFields()
    if let tokens {
      guard let token = tokens.token() else { return .unreachable("no token can be signed") }
      fields.append(.authorization, "bearer \(token)")
    }
    fields.append(FieldName("apns-id"), push.pushID)
    fields.append(FieldName("apns-topic"), topic)
    fields.append(FieldName("apns-push-type"), type)
    fields.append(FieldName("apns-priority"), String(priority))
    if let key = push.collapseKey { fields.append(FieldName("apns-collapse-id"), key) }
    fields.append(FieldName("apns-expiration"), String(push.expires.seconds))
    fields.append(.contentType, "application/json")
    let request = OutgoingRequest(
      .post, "\(url)/3/device/\(push.address.text)", fields: fields, body: body)
    do throws(HTTPClientError) {
      return .responded(PushResponse(try await client.send(request), now: clock()))
    } catch { return PushOutcome(error) }
  }
}

extension PushOutcome {
  /// Tells of an attempt at a push service of the operator's choice that got no response.
  init(_ error: HTTPClientError) {
    self =
      switch error.code {
      case .cancelled: .cancelled
      case .timedOut, .tooLarge, .malformedResponse, .disconnected: .disconnected
      case .invalidRequest, .unknownHost, .forbiddenAddress, .notConnected, .tls, .outOfResources:
        .unreachable(error.message)
      }
  }
}

extension IncomingResponse {
  /// Returns the time that `Retry-After` names, if there is one.
  func retryAfter(now: Timestamp) -> Duration? {
    fields.first(.retryAfter).flatMap { value in
      if let seconds = UInt32(value) { return .seconds(Int64(seconds)) }
      let date = HTTPDate(Array(value.utf8)[...], now: HTTPDate(now.seconds))
      return date.map { .seconds(max(0, $0.seconds - now.seconds)) }
    }
  }
}

extension PushResponse {
  /// Reads a response of Apple's, whose body may be anything.
  init(_ response: IncomingResponse, now: Timestamp) {
    let fault = APNsFault(json: response.body)
    self.init(
      status: Int(response.status.code), reason: fault.reason, timestamp: fault.timestamp,
      retryAfter: response.retryAfter(now: now))
  }
}

/// The reason of a refusal, as the body of an APNs response gives it.
package struct APNsFault: Sendable, Hashable {
  /// Apple's word for the reason: 1 to 64 letters and digits, fit for a log.
  package let reason: String?
  /// The moment since which the device is known to be gone.
  package let timestamp: Timestamp?

  /// Reads a body; members that are missing or not in Apple's form are nil.
  ///
  /// - Parameter body: any bytes.
  package init(json body: [UInt8]) {
    var (reason, timestamp): (String?, Timestamp?)
    for member in JSONObjectReader.members(of: body) ?? [] {
      switch (member.name, member.value) {
      case ("reason", .text(let word)): reason = word.asWord
      case ("timestamp", .integer(let time)): timestamp = Timestamp(milliseconds: time)
      default: break
      }
    }
    self.reason = reason
    self.timestamp = timestamp
  }
}

extension String {
  /// The text if it is a push service's word for something, fit for a log: 1 to 64 letters, digits and underscores.
  var asWord: String? {
    (1...64).contains(utf8.count) && utf8.allSatisfy { $0.isLetterOrDigit || $0 == 0x5f }
      ? self : nil
  }
}
