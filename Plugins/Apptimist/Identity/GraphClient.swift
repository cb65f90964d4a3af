internal import Configuration
internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol
internal import Observability
internal import Platform

/// Asks Facebook's Graph whether a token is good.
struct GraphClient: Sendable {
  private let client: WebClient
  private let app: FacebookConfiguration
  private let clock: @Sendable () -> Timestamp

  /// Makes a client for an app.
  ///
  /// - Throws: ``HTTPClientError``.
  init(_ app: FacebookConfiguration, clock: @escaping @Sendable () -> Timestamp) throws {
    var options = HTTPClientOptions()
    options.timeout = app.timeout
    options.bodyLimit = 64 << 10
    client = try WebClient(options)
    self.app = app
    self.clock = clock
  }

  /// Asks Facebook whether a token was given to a user of the app, and still holds.
  ///
  /// - Parameter token: the token that the device got from Facebook.
  func evaluate(uid: String, token: [UInt8]) async -> IdentityProvider.IdentityDecision {
    guard let token = String(validating: token, as: UTF8.self), !token.isEmpty, !uid.isEmpty else {
      return .refused(reason: "there is no uid, or no token of Facebook's")
    }
    let access = PercentEncoding.encode("\(app.appID)|\(app.appSecret.value)")
    let url =
      "\(app.graphURL)/debug_token?input_token=\(PercentEncoding.encode(token))"
      + "&access_token=\(access)"
    guard let response = try? await client.send(OutgoingRequest(.get, url)),
      response.status.code < 500
    else { return .unavailable(reason: "Facebook does not respond") }
    let isConfirmed =
      response.status == .ok
      && Self.confirms(response.body, uid: uid, appID: app.appID, now: clock())
    return isConfirmed ? .accepted : .refused(reason: "Facebook does not confirm the token")
  }

  /// Graph's response about a token.
  private struct Inspection: Decodable {
    struct Data: Decodable {
      let app_id: Identifier
      let type: String?
      let is_valid: Bool
      let user_id: Identifier
      /// Seconds since 1970; 0: never.
      let expires_at: Int64?
    }

    /// A number that Graph writes as a text or as a number.
    struct Identifier: Decodable {
      let text: String

      init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
          self.text = text
        } else {
          text = try value.decode(UInt64.self).description
        }
      }
    }

    let data: Data
  }

  /// Returns whether the body of a response confirms a token.
  static func confirms(_ body: [UInt8], uid: String, appID: String, now: Timestamp) -> Bool {
    guard let inspection = try? JSONDecoder().decode(Inspection.self, from: Data(body)) else {
      return false
    }
    let data = inspection.data
    let end = data.expires_at ?? 0
    return data.is_valid && data.app_id.text == appID && data.user_id.text == uid
      && data.type ?? "USER" == "USER" && (end == 0 || end > now.seconds)
  }
}
