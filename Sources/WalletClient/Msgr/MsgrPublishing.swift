internal import HTTPProtocol

/// The way to a browser or an app that a push service knows: what a `PushSubscription`, or a distributor of UnifiedPush
/// gives.
public struct MsgrSubscription: Sendable, Hashable {
  /// The address at the push service, an `https` URL.
  public var endpoint: String
  /// The device's public key: an uncompressed point on P-256, in base64url.
  public var p256dh: String
  /// The secret shared with the server: 16 bytes in base64url.
  public var auth: String

  /// Makes a subscription.
  ///
  /// - Parameters:
  ///   - endpoint: the address at the push service.
  ///   - p256dh: the device's public key in base64url.
  ///   - auth: the shared secret in base64url.
  public init(endpoint: String, p256dh: String, auth: String) {
    self.endpoint = endpoint
    self.p256dh = p256dh
    self.auth = auth
  }
}

extension MsgrSession {
  /// Makes a token that can do nothing but publish; it is listed and ended like a session.
  ///
  /// - Parameters:
  ///   - name: a name that is unique among the account's; its messages come from `<account>/<name>`.
  ///   - recipients: the users whom it may send to, without commas in their names; none for the account alone.
  /// - Returns: the token, which the server shows once.
  /// - Throws: `.forbidden` if the name is in use or a recipient unknown, or another ``MsgrError``.
  public func makePublisher(
    _ name: String, to recipients: [String] = []
  ) async throws(MsgrError) -> String {
    var fields = ["Name": name]
    if !recipients.isEmpty { fields["To"] = recipients.joined(separator: ",") }
    return try await request("/tokens", fields, MsgrServer.Issued.self).Token
  }

  /// Has messages pushed to the session's device, which must be one that streams, in place of an earlier subscription.
  ///
  /// - Parameter subscription: the way to the device.
  /// - Throws: `.invalid` if it can't be one, or another ``MsgrError``.
  public func subscribe(_ subscription: MsgrSubscription) async throws(MsgrError) {
    let fields = [
      "Endpoint": subscription.endpoint, "P256dh": subscription.p256dh, "Auth": subscription.auth,
    ]
    _ = try await request("/subscribe", fields, EmptyReply.self)
  }

  /// Has nothing more pushed to the session's device.
  ///
  /// - Throws: ``MsgrError``.
  public func unsubscribe() async throws(MsgrError) {
    _ = try await request("/unsubscribe", [:], EmptyReply.self)
  }
}

extension MsgrServer {
  private struct Found: Decodable { let Key: String }

  private struct Published: Encodable {
    let message: String
    let title: String?
    let priority: Int?
    let link: String?
  }

  /// Returns the key that browsers and distributors subscribe with: 65 bytes in base64url.
  ///
  /// - Throws: ``MsgrError``.
  public func pushKey() async throws(MsgrError) -> String {
    let body = try await send(.get, "/push-key", body: nil, token: nil)
    return try MsgrJSON.reply(Found.self, body).Key
  }

  /// Publishes a message to a publisher's recipients.
  ///
  /// - Parameters:
  ///   - text: the message.
  ///   - title: its title.
  ///   - priority: its priority, 0 to 10.
  ///   - link: an `https`, `http` or `mailto` link.
  ///   - token: the result of ``MsgrSession/makePublisher(_:to:)``.
  /// - Throws: `.forbidden` if the token has ended, or another ``MsgrError``.
  public func publish(
    _ text: String, title: String? = nil, priority: Int? = nil, link: String? = nil, token: String
  ) async throws(MsgrError) {
    let published = Published(message: text, title: title, priority: priority, link: link)
    _ = try await send(.post, "/publish", body: MsgrJSON.encode(published), token: token)
  }
}
