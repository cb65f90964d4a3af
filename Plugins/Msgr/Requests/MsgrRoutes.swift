internal import Cryptography
internal import Formats
internal import HTTPProtocol
internal import Push
internal import Routing
internal import Platform
internal import ServiceKit
internal import Storage

/// The requests of the service: each reads its fields, calls the service, and writes the response.
///
/// Each path answers below `/msgr` too, where no other service's paths can be.
struct MsgrRoutes: Sendable {
  static let prefix = "/msgr"
  /// The longest message on a stream, in bytes. The longest request is configured.
  static let messageLimit = 64 << 10
  /// The messages that a page of history may have.
  private static let historyCounts = 1...100
  /// The messages of a page of history if the request doesn't say how many.
  private static let defaultHistoryCount = 50
  private static let noStore = "no-store"

  let service: MessageService
  let topics: TopicService
  /// The requests of Gotify's clients, some of which have the same paths; nil if there are none.
  let gotify: GotifyRoutes?
  let streamPing: Duration
  /// The fewest bytes of a new password.
  let minimumPassword: Int
  /// The longest body of requests without a limit of their own, in bytes.
  let bodyLimit: Int
  let origins: OriginPolicy
  let description: ServiceDescription

  /// Registers all requests.
  func register(on router: inout Router) {
    router.errorStyle = .json
    router.errorFields.append(.cacheControl, Self.noStore)
    router.optionsFields = nil
    registerAccounts(on: &router)
    registerContacts(on: &router)
    registerMessages(on: &router)
    registerPublishing(on: &router)
    registerTopics(topics, on: &router)
    registerWebPush(on: &router)
    registerWallets(on: &router)
    // Nothing below it is a topic's.
    router.on([.get, .put, .post, .delete, .patch, .options], "\(Self.prefix)/{rest...}") { _, _ in
      throw HTTPError(.notFound, "there is no such path")
    }
    for prefix in ["", Self.prefix] {
      router.webSocket("\(prefix)/stream") { request, _ in
        if let gotify, GotifyRoutes.isGotifyStream(request.head) {
          return try await gotify.acceptStream(request)
        }
        return try await acceptStream(request)
      }
      router.get("\(prefix)/openapi.json") { request, _ in
        try description.response(to: request.head)
      }
    }
  }

  private func registerAccounts(on router: inout Router) {
    registerJSON("/register", on: &router) { request, _ in
      let call = try FieldRequest(request)
      guard service.signup != .closed else { throw RequestRefusal.noSignup }
      let fields = call.fields
      let token = try await service.register(
        try UserName(ofNewAccount: try fields.text(.username), in: .username),
        try fields.newPassword(.password, atLeast: minimumPassword), try device(of: call),
        invitation: try call.invitation(), from: call.network)
      return try JSONText.of(["Token": token.text])
    }
    registerFields("/login", on: &router) { call in
      let credentials = try call.passwordCredentials()
      let device = try device(of: call)
      let (token, login) = try await service.login(credentials, device)
      return Self.response(to: device, ["Token": token.text], seen: login.seen)
    }
    registerFields("/logout", on: &router) { call in
      try await service.logout(try call.endedSession())
      return EmptyResponse()
    }
    registerFields("/password", on: &router) { call in
      let fields = call.fields
      try await service.changePassword(
        try call.credentials(), by: try await secret(call),
        to: try fields.newPassword(.newPassword, atLeast: minimumPassword), in: call.network)
      return EmptyResponse()
    }
    registerFields("/sessions", on: &router) { call in
      let end = call.fields.has(.end) ? try call.fields.text(.end) : nil
      return try await service.sessions(of: try call.credentials(), ending: end)
    }
    registerBody("/export", on: &router) { request, _ in
      .pieces(try await answer(request) { try await service.export(try $0.credentials()) })
    }
    registerFields("/delete", on: &router) { call in
      let credentials = try call.credentials()
      try await service.delete(credentials, by: try await secret(call))
      return EmptyResponse()
    }
  }

  /// Returns the response to a login, with what a device that streams needs to tell new messages from those that were read.
  static func response(
    to login: DeviceLogin, _ members: [String: String], seen: MsgrMessageID
  ) -> [String: String] {
    // A phone shows what is pushed to it, and clients of the old protocol expect no other members.
    guard !login.device.isPushable else { return members }
    return members.merging(["Seen": seen.text]) { $1 }
  }

  /// Returns the device of a login, unless it is one that nothing could be pushed to.
  func device(of call: FieldRequest) throws(FieldError) -> DeviceLogin {
    let login = try call.device()
    guard service.accepts(login.device) else {
      throw FieldError(.deviceID, "is a token of a push service that isn't configured here")
    }
    return login
  }

  private func registerContacts(on router: inout Router) {
    let authenticator = service.authenticator
    let store = service.store
    registerFields("/contacts", on: &router) { call in
      try await authenticator.perform(as: try call.credentials(), store.friends).map(\.text)
    }
    registerFields("/friends", on: &router) { call in
      let skipped = try call.fields.number(.skip, in: 0...Int(Int32.max)) ?? 0
      return try await authenticator.perform(as: try call.credentials()) { caller in
        try await store.contacts(of: caller, skipping: skipped)
      }
    }
    registerFields("/add", on: &router) { call in
      let credentials = try call.credentials(acceptsMisspelling: true)
      let friendship = try await service.add(try call.fields.name(.addUser), by: credentials)
      return ["Status": friendship.rawValue]
    }
    for (path, act) in [
      ("/unfriend", store.unfriend), ("/block", service.block), ("/unblock", store.unblock),
    ] {
      registerFields(path, on: &router) { call in
        let credentials = try call.credentials()
        let user = try call.fields.sender(.user)
        try await authenticator.perform(as: credentials) { try await act(user, $0) }
        return EmptyResponse()
      }
    }
  }

  private func registerMessages(on router: inout Router) {
    registerResponse(
      "/message", bodyLimit: gotify?.bodyLimit, in: ["", Self.prefix], on: &router
    ) { request, _ in
      // Gotify's clients publish at this path too.
      guard let gotify else { return try await sendMessage(request) }
      if gotify.isProbablyMsgrs(request) {
        do {
          return try await sendMessage(request)
        } catch {
          // What failed may have been another's: nobody's session has a publisher's token, so nothing was sent.
          guard try await gotify.isGotify(request) else { throw error }
          return try await gotify.publish(request)
        }
      }
      if try await gotify.isGotify(request) { return try await gotify.publish(request) }
      return try await sendMessage(request)
    }
    let authenticator = service.authenticator
    let store = service.store
    registerBody("/inbox", on: &router) { request, _ in
      try await answer(request) { call in
        let credentials = try call.credentials()
        let position = try call.fields.since()
        return try await authenticator.perform(as: credentials) { caller in
          try await messages(atMost: MsgrStore.pageSize) { last, count in
            try await store.inbox(of: caller, since: last?.id ?? position, atMost: count)
          }
        }
      }
    }
    registerBody("/history", on: &router) { request, _ in
      try await answer(request) { try await history($0) }
    }
    registerFields("/read", on: &router) { call in
      let fields = call.fields
      try await service.read(
        from: try fields.sender(.with), upTo: try MsgrMessageID(try fields.text(.id), in: .id),
        by: try call.credentials())
      return EmptyResponse()
    }
  }

  /// Returns messages as a list in JSON, which is read as the client takes it if it is long.
  private func messages(
    atMost count: Int,
    _ read: @escaping @Sendable (Message?, Int) async throws -> BoundedPage<Message>
  ) async throws -> Response.Body {
    try await JSONListReading(atMost: count, encode: { try JSONText.of($0) }, read: read).body()
  }

  /// Returns the messages of a conversation or of a topic, newest first.
  private func history(_ call: FieldRequest) async throws -> Response.Body {
    let authenticator = service.authenticator
    let store = service.store
    let fields = call.fields
    let credentials = try call.credentials()
    let position =
      fields.has(.before) ? try MsgrMessageID(try fields.text(.before), in: .before) : .last
    let count = try fields.number(.limit, in: Self.historyCounts) ?? Self.defaultHistoryCount
    if fields.has(.topic), topics.isOn {
      return try await authenticator.perform(as: credentials) { caller in
        try await history(
          ofTopic: call, in: topics, by: caller, before: position.rawValue, atMost: count)
      }
    }
    let other = try fields.sender(.with)
    return try await authenticator.perform(as: credentials) { caller in
      try await messages(atMost: count) { last, count in
        try await store.history(
          of: caller, with: other, before: last?.id ?? position, atMost: count)
      }
    }
  }

  /// Registers a request with the fields of the protocol, whose response is a value in JSON.
  func registerFields<Body: Encodable & SendableMetatype>(
    _ path: String, in prefixes: [String] = ["", prefix], on router: inout Router,
    _ act: @escaping @Sendable (FieldRequest) async throws -> Body
  ) {
    registerJSON(path, in: prefixes, on: &router) { request, _ in
      try JSONText.of(try await answer(request, act))
    }
  }

  /// Carries out a request. Only a caller with good credentials gets to know faults in the other fields.
  private func answer<Value>(
    _ request: Request, name field: FieldID = .username, _ act: (FieldRequest) async throws -> Value
  ) async throws -> Value {
    do {
      return try await act(try FieldRequest(request))
    } catch let fault as FieldError {
      let credentials =
        try FieldRequest.token(request).map { .token($0, claiming: nil) }
        ?? FieldRequest(request).credentials(name: field, acceptsMisspelling: true)
      try await service.confirm(credentials)
      throw fault
    }
  }

  private func sendMessage(_ request: Request) async throws -> Response {
    // More is for Gotify's clients, of whose texts the end is cut.
    if let gotify, request.body.count > gotify.ordinaryBodyLimit {
      throw HTTPError(.contentTooLarge)
    }
    let body = try await answer(request, name: .userFrom) { call in
      let credentials = try call.credentials(name: .userFrom)
      return try await service.send(try Draft(call.fields), by: credentials).json
    }
    return Self.response(.array(body))
  }

  /// Registers a request by POST whose response is JSON.
  func registerJSON(
    _ path: String, in prefixes: [String] = ["", prefix],
    on router: inout Router,
    _ act: @escaping @Sendable (Request, RouteParameters) async throws -> [UInt8]
  ) {
    registerBody(path, in: prefixes, on: &router) { .array(try await act($0, $1)) }
  }

  /// Registers a request whose response is JSON, in pieces or as a whole.
  private func registerBody(
    _ path: String, in prefixes: [String] = ["", prefix],
    on router: inout Router,
    _ act: @escaping @Sendable (Request, RouteParameters) async throws -> Response.Body
  ) {
    registerResponse(path, in: prefixes, on: &router) { request, parameters in
      Self.response(try await act(request, parameters))
    }
  }

  /// Makes a response with JSON.
  static func response(_ body: Response.Body) -> Response {
    var response = Response(.ok, body: body)
    response.fields.append(.contentType, "application/json")
    response.fields.append(.cacheControl, noStore)
    return response
  }

  /// Registers a request by POST, whose refusals have the form of Msgr's own clients.
  private func registerResponse(
    _ path: String, bodyLimit: Int? = nil, in prefixes: [String], on router: inout Router,
    _ act: @escaping @Sendable (Request, RouteParameters) async throws -> Response
  ) {
    for prefix in prefixes {
      router.post("\(prefix)\(path)", bodyLimit: bodyLimit) { request, parameters in
        try await answering(request) { try await act(request, parameters) }
      }
      registerPreflight("\(prefix)\(path)", on: &router)
    }
  }

  /// Makes a response, or the refusal of a request, for a page that may read it.
  func answering(
    _ request: Request, _ act: () async throws -> Response
  ) async throws -> Response {
    let shared = try origins.check(request.head)
    do {
      var response = try await act()
      response.fields.append(contentsOf: shared)
      return response
    } catch {
      guard var refusal = error as? HTTPError ?? HTTPError(refusing: error) else { throw error }
      refusal.fields.append(contentsOf: shared)
      throw refusal
    }
  }

  /// Answers browsers that ask whether a page of a listed origin may call.
  func registerPreflight(_ pattern: String, on router: inout Router) {
    guard !origins.listed.isEmpty else { return }
    router.on([.options], pattern) { request, _ in try origins.preflight(request.head) }
  }
}

/// The body of a response that says no more than its status.
struct EmptyResponse: Encodable {}

/// A request with its fields read.
struct FieldRequest: Sendable {
  let fields: FieldValues
  /// The client's network, which limits count by.
  let network: ClientNetwork?
  private let token: TokenHash?

  init(_ request: Request) throws(FieldError) {
    fields = try FieldValues(request)
    network = request.origin.client
    token = Self.token(request)
  }

  /// Returns the token of a request, if there is one.
  static func token(_ request: Request) -> TokenHash? {
    request.head.first(.authorization).flatMap(BearerToken.hash(inAuthorization:))
  }

  /// Returns the credentials: a token if there is one, else a name and a password.
  func credentials(
    name field: FieldID = .username, acceptsMisspelling: Bool = false
  ) throws(FieldError) -> RequestCredentials {
    guard let token else {
      return try passwordCredentials(name: field, acceptsMisspelling: acceptsMisspelling)
    }
    return .token(token, claiming: fields.has(field) ? try fields.name(field) : nil)
  }

  /// Returns a name and a password as credentials, whether there is a token or not.
  func passwordCredentials(
    name field: FieldID = .username, acceptsMisspelling: Bool = false
  ) throws(FieldError) -> RequestCredentials {
    .password(
      try fields.name(field), try fields.password(acceptsMisspelling: acceptsMisspelling),
      from: network)
  }

  /// Returns the token whose digest a client has kept that has forgotten the token itself; nil if there is none.
  func digestedToken() throws(FieldError) -> RequestCredentials? {
    guard fields.has(.tokenDigest) else { return nil }
    return .token(TokenHash(hex: try fields.text(.tokenDigest)) ?? .none, claiming: nil)
  }

  /// Returns the credentials of a session that ends.
  ///
  /// - Throws: 400 if nothing names one: a name, which is missing as well, would be of no use.
  func endedSession() throws -> RequestCredentials {
    if let digested = try digestedToken() { return digested }
    guard token != nil || fields.has(.username) else {
      let fault = FieldError(
        .tokenDigest,
        "is missing, and so is the token (Authorization: Bearer) of the session that ends")
      throw HTTPError(refusing: fault) ?? fault as any Error
    }
    return try credentials()
  }

  /// Returns the device of a login.
  func device() throws(FieldError) -> DeviceLogin {
    DeviceLogin(device: try fields.device(), name: try fields.deviceName())
  }

  /// Returns the invitation, if there is one.
  func invitation() throws(FieldError) -> InvitationHash? {
    fields.has(.invitation) ? InvitationHash(ofToken: try fields.text(.invitation).utf8) : nil
  }
}

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
