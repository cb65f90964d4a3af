internal import Cryptography
internal import Formats
internal import HTTPProtocol
internal import Push
internal import Routing

extension MsgrRoutes {
  /// Registers the requests of browsers, and of apps with UnifiedPush's distributors, that want to be pushed to.
  func registerWebPush(on router: inout Router) {
    let key = Base64URL.encode(service.pushKey.bytes)
    for prefix in ["", Self.prefix] {
      router.get("\(prefix)/push-key") { request, _ in
        var response = try Response(.ok, json: ["Key": key])
        response.fields.append(.cacheControl, "no-cache")
        response.fields.append(contentsOf: try origins.check(request.head))
        return response
      }
    }
    registerFields("/subscribe", on: &router) { call in
      let subscription = try BrowserSubscription(
        call.fields, allowed: service.pushes.allowedWebHosts)
      try await service.authenticator.perform(as: try call.credentials()) { caller in
        try await service.store.subscribe(subscription, caller)
      }
      return EmptyResponse()
    }
    registerFields("/unsubscribe", on: &router) { call in
      try await service.authenticator.perform(as: try call.credentials(), service.store.unsubscribe)
      return EmptyResponse()
    }
  }
}

/// The subscription of a browser's page, or of an app with a distributor of UnifiedPush's.
struct BrowserSubscription: Sendable {
  let way: WebPushSubscription
  /// True if the device wants notifications that its browser can show by itself.
  let isDeclarative: Bool
}

extension BrowserSubscription {
  /// Reads the fields that a browser's `PushSubscription` gives.
  ///
  /// - Parameter allowed: the authorities that may have another port than 443.
  /// - Throws: ``FieldError`` for an address that can't be one, a point that isn't on the curve, or a secret of another
  ///   length.
  init(_ fields: FieldValues, allowed: Set<HostAndPort>) throws(FieldError) {
    let text = try fields.text(.endpoint)
    let endpoint: PushEndpoint
    do throws(PushAddressError) { endpoint = try PushEndpoint(text, allowed: allowed) } catch {
      throw FieldError(.endpoint, error.description)
    }
    guard let key = Base64URL.decode(try fields.text(.p256dh)), P256PublicKey(key) != nil else {
      throw FieldError(.p256dh, "is no uncompressed point on P-256 in base64url")
    }
    guard let secret = Base64URL.decode(try fields.text(.auth)),
      secret.count == WebPushSubscription.secretLength
    else {
      throw FieldError(.auth, "is not \(WebPushSubscription.secretLength) bytes in base64url")
    }
    way = WebPushSubscription(endpoint: endpoint, key: key, secret: secret)
    isDeclarative = try fields.truth(.declarative)
  }
}
