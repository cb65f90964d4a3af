internal import Configuration
internal import Formats
internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol
internal import Observability
internal import Platform

/// Google's push service, FCM HTTP v1.
final class FCMProvider: PushProvider {
  private let configuration: FCMConfiguration
  private let url: String
  private let client: WebClient
  private let tokens: AccessTokens
  private let clock: @Sendable () -> Timestamp

  let target: String

  /// Makes a provider, which connects with the first push.
  ///
  /// - Throws: ``PushSetupError`` if the service account can't be read, or ``HTTPClientError``.
  init(
    _ configuration: FCMConfiguration, streams: Int, clock: @escaping @Sendable () -> Timestamp,
    metrics: Metrics
  ) throws {
    let account = try ServiceAccount(configuration)
    self.configuration = configuration
    self.clock = clock
    url = "\(configuration.url)/v1/projects/\(account.project)/messages:send"
    target = "\(configuration.url) \(account.project)"
    var options = HTTPClientOptions()
    options.timeout = .seconds(10)
    options.bodyLimit = 16 << 10
    options.cutsLongBodies = true
    options.streamsPerConnection = streams
    if !configuration.roots.isEmpty { options.certificateAuthorities = configuration.roots }
    client = try WebClient(options)
    tokens = AccessTokens(
      of: account, at: configuration.tokenURL, client: client, clock: clock, metrics: metrics)
  }

  /// Reads the service account again; blocks on the disk. The project stays.
  ///
  /// - Throws: ``PushSetupError``; then the former one stays.
  func reload() async throws { await tokens.replace(by: try ServiceAccount(configuration)) }

  func push(_ push: LeasedPush, _ payload: PushPayload) async -> PushOutcome {
    guard case .fcm(let data, let members) = payload else { return .forbidden("no message of FCM") }
    let token: String
    do throws(PushSetupError) { token = try await tokens.current() } catch {
      return .unreachable("no access token: \(error.message)")
    }
    let begun = clock()
    let body = Self.message(push, data, members, at: begun)
    var request = OutgoingRequest(url, json: body)
    request.fields.append(.authorization, "Bearer \(token)")
    do throws(HTTPClientError) {
      let answer = try await client.send(request)
      let fault = FCMFault(json: answer.body)
      let response = PushResponse(
        status: Int(answer.status.code), reason: fault.code, detail: fault.status, timestamp: begun,
        retryAfter: answer.retryAfter(now: clock()), isOfToken: fault.isOfToken)
      if response.status == 401, response.reason == nil { await tokens.discard(token) }
      return .responded(response)
    } catch { return PushOutcome(error) }
  }

  /// Returns the body of a request, in UTF-8.
  static func message(
    _ push: LeasedPush, _ data: [UInt8], _ members: [JSONValue.Member], at now: Timestamp
  ) -> [UInt8] {
    JSONWriter.object { body in
      body.add(
        "message",
        object: { message in
          message["token"] = push.address.text
          message.add("data", json: data)
          message.add(
            "android",
            object: { android in
              android["priority"] = push.urgency == .low ? "NORMAL" : "HIGH"
              android["ttl"] = "\(push.secondsLeft(at: now))s"
              android["collapse_key"] = push.collapseKey
            })
          for member in members { message[member.name] = member.value }
        })
    }
  }
}

/// The reason of a refusal, as the body of a response of FCM's gives it.
package struct FCMFault: Sendable, Hashable {
  /// FCM's own code: 1 to 64 letters, digits and underscores, fit for a log. Nil if the refusal isn't FCM's.
  package let code: String?
  /// Google's name for the status, such as `UNAVAILABLE`, in the form of the code; nil without one.
  package let status: String?
  /// True if the refusal says that the device's token is no token.
  package let isOfToken: Bool

  private struct Body: Decodable {
    struct Fault: Decodable {
      let status: String?
      let message: String?
      let details: [Detail]?
    }

    /// An entry of the details, of which there are several kinds.
    struct Detail: Decodable {
      struct Violation: Decodable { let field: String? }

      enum CodingKeys: String, CodingKey {
        case type = "@type"
        case errorCode, fieldViolations
      }

      let type: String?
      let errorCode: String?
      let fieldViolations: [Violation]?
    }

    let error: Fault
  }

  /// Reads a body.
  ///
  /// - Parameter body: any bytes.
  package init(json body: [UInt8]) {
    // jansson knows what is JSON and how deep; the decoder only picks the members.
    let fault =
      JSONObjectReader.members(of: body) == nil
      ? nil : try? JSONDecoder().decode(Body.self, from: Data(body)).error
    let details = fault?.details ?? []
    code = details.first { $0.type?.hasSuffix("FcmError") == true }?.errorCode?.asWord
    status = fault?.status?.asWord
    let words = fault?.message?.lowercased() ?? ""
    isOfToken =
      details.contains { $0.fieldViolations?.contains { $0.field == "message.token" } == true }
      || words.contains("registration token") && words.contains("valid")
  }
}

/// The section `[push.fcm]`.
package struct FCMConfiguration: Sendable {
  /// The path of the service account's file.
  package let credentials: String
  /// The project that is pushed for, or an empty string for the one of the file.
  let project: String
  /// The path of a PEM file with the authorities of both services' certificates, or an empty string for the system's.
  package let roots: String
  /// The URL of the push service, without a slash at the end.
  package let url: String
  /// The URL that access tokens are granted at, or nil for the one of the file.
  let tokenURL: String?

  /// Reads the section, and records its faults.
  ///
  /// - Returns: nil if no credentials are named.
  init?(_ section: ConfigurationSection) {
    credentials = section.path("credentials", default: "", relativeTo: .data)
    project = section.string("project", default: "")
    roots = section.path("roots", default: "")
    url = section.originURL("url", default: "https://fcm.googleapis.com")
    tokenURL = section.optionalValue("token_url", expected: "an https URL") { text in
      WebURL(text, schemes: ["https"]) == nil ? nil : text
    }
    guard !credentials.isEmpty else { return nil }
  }
}

extension ConfigurationSection {
  /// Reads the `https` URL of a push service, and takes a slash at its end off.
  func originURL(_ name: String, default fallback: String) -> String {
    value(name, default: fallback, expected: "an https URL without a path") { text in
      let url = text.hasSuffix("/") ? String(text.dropLast()) : text
      return WebURL(url, schemes: ["https"])?.isOrigin == true ? url : nil
    }
  }
}
