internal import Cryptography
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
    post("/subscribe", on: &router) { call in
      let subscription = try Subscription(call.fields, allowed: service.pushes.allowedWebHosts)
      try await service.authenticator.perform(as: try call.credentials()) { caller in
        try await service.store.subscribe(subscription, caller)
      }
      return Done()
    }
    post("/unsubscribe", on: &router) { call in
      try await service.authenticator.perform(as: try call.credentials(), service.store.unsubscribe)
      return Done()
    }
  }
}
