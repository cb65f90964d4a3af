internal import Budgets
internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol
internal import Observability
internal import Platform
internal import Push
internal import Routing
internal import ServiceKit
internal import Storage

/// The ends of requests, as metrics name them.
enum RequestOutcome: String, CaseIterable {
  case registered, deleted, accepted, repeated, unknown, forged, refused
}

/// The requests of the service, each below `/` and below each project's name.
final class PushServerRoutes: Sendable {
  private struct Registration: Decodable {
    let client_id: String?
    let type: String?
    let token: String?
    let always_raw: Bool?
  }

  private let store: PushServerStore
  private let pushes: Pushes
  private let configuration: PushServerConfiguration
  private let clock: @Sendable () -> Timestamp
  private let tokens: ClientTokens
  private let forgeries: ForgeryGuard
  private let perMinute: AttemptTable
  private let perDay: AttemptTable
  private let relayed: AttemptTable
  private let outcomes: [RequestOutcome: Counter]
  /// The number of clients when they were last counted; other nodes may have changed it since.
  let clients = Lock(0)

  init(
    _ context: ServiceContext, _ configuration: PushServerConfiguration, _ store: PushServerStore
  ) {
    self.store = store
    pushes = context.pushes
    clock = context.clock
    self.configuration = configuration
    tokens = ClientTokens(audience: context.publicURL ?? "")
    forgeries = ForgeryGuard(clock: context.clock)
    perMinute = AttemptTable(span: .seconds(60), clock: context.clock)
    perDay = AttemptTable(span: .seconds(86_400), clock: context.clock)
    relayed = AttemptTable(span: .seconds(60), clock: context.clock)
    outcomes = RequestOutcome.allCases.reduce(into: [:]) { outcomes, outcome in
      outcomes[outcome] = context.metrics.counter(
        "awd_pushserver_requests_total", "Requests to the push server", ["what": outcome.rawValue])
    }
  }

  /// Registers all requests.
  func register(on router: inout Router) {
    router.errorStyle = .own { [self] error in
      count(error.members["name"] == HTTPError.forgery ? .forged : .refused)
      return error.failure
    }
    router.errorFields.append(.cacheControl, "no-store")
    router.optionsFields = nil
    for prefix in [""] + configuration.projects.map({ "/\($0)" }) {
      router.on([.post], "\(prefix)/clients", screen: limit) { [self] request, _ in
        try await register(request)
      }
      router.on([.delete], "\(prefix)/clients/{id}", screen: limit) { [self] request, parameters in
        try await delete(ClientKey(parameters.text("id") ?? ""), request)
      }
      router.on([.post], "\(prefix)/clients/{id}", screen: screen) { [self] request, parameters in
        try await push(to: ClientKey(parameters.text("id") ?? ""), request)
      }
    }
  }

  private func count(_ outcome: RequestOutcome) { outcomes[outcome]?.add() }

  // MARK: - Wallets

  /// Refuses a wallet's request from an address that sends too many.
  private func limit(_ head: RequestHead, _ origin: RequestOrigin) throws(HTTPError) {
    for (table, limit) in [
      (perMinute, configuration.registrationsPerMinute),
      (perDay, configuration.registrationsPerDay),
    ] {
      if let wait = table.count(origin.client, upTo: limit) {
        throw HTTPError(.tooManyRequests, retryAfter: wait)
      }
    }
  }

  private func register(_ request: Request) async throws -> Response {
    let registration = try Self.body(of: request, as: Registration.self)
    guard let id = registration.client_id else { throw HTTPError.field("client_id", "is missing") }
    let client = ClientKey(id)
    let isSigned = try isSigned(request, by: client)
    guard let client else {
      throw HTTPError.field("client_id", "isn't the base58btc of an Ed25519 key")
    }
    guard let type = registration.type else { throw HTTPError.field("type", "is missing") }
    guard let kind = store.queue.kinds.first(where: { $0.name == type }) else {
      let fault = "the requested provider is not available"
      throw HTTPError(.badRequest, "provider_not_available", fault, ["provider": fault])
    }
    guard let address = try? PushAddress(kind, text: registration.token ?? "") else {
      throw HTTPError.field("token", "is missing, or no token of this provider")
    }
    do {
      let more = try await store.register(
        client, at: address, isRaw: registration.always_raw ?? false, isSigned: isSigned,
        from: request.origin.client?.site,
        hasRoom: clients.withLock { $0 < configuration.clients })
      clients.withLock { $0 += more }
    } catch let refusal as ClientRefusal { throw HTTPError(refusal) }
    count(.registered)
    return .success(.ok)
  }

  private func delete(_ client: ClientKey?, _ request: Request) async throws -> Response {
    let isSigned = try isSigned(request, by: client)
    if let client {
      do {
        if try await store.delete(client, isSigned: isSigned) { clients.withLock { $0 -= 1 } }
      } catch let refusal as ClientRefusal { throw HTTPError(refusal) }
    }
    count(.deleted)
    return .success(.ok)
  }

  /// Returns whether a client has signed a request.
  ///
  /// - Throws: 401 if it hasn't, and must; a signature that isn't right is never as good as none.
  private func isSigned(_ request: Request, by client: ClientKey?) throws(HTTPError) -> Bool {
    guard let field = request.head.first(.authorization) else {
      guard configuration.allowsUnsigned else { throw .authentication }
      return false
    }
    guard let client, tokens.signer(of: field, at: clock()) == client else { throw .authentication }
    return true
  }

  // MARK: - The relay

  /// Refuses a message that can't be the relay's, before its body is read.
  private func screen(_ head: RequestHead, _ origin: RequestOrigin) throws(HTTPError) {
    guard !forgeries.refuses(origin.client) else {
      throw HTTPError(
        .serviceUnavailable, "too many messages from this address aren't the relay's", retryAfter: 1
      )
    }
    do throws(HTTPError) {
      try RelayProof.screen(head, at: clock())
    } catch {
      forgeries.recordFailure(origin.client)
      throw error
    }
  }

  private func push(to client: ClientKey?, _ request: Request) async throws -> Response {
    let network = request.origin.client
    guard let relay = configuration.relay, let proof = RelayProof(request.head),
      proof.covers(request.body, by: relay)
    else {
      forgeries.recordFailure(network)
      throw HTTPError.forged("the signature is wrong")
    }
    forgeries.recordSuccess(network)
    let body = try Self.body(of: request, as: RelayRequest.self)
    var outcome = RequestOutcome.unknown
    if let client {
      if let wait = relayed.count(client, upTo: configuration.pushesPerMinute) {
        throw HTTPError(.tooManyRequests, retryAfter: wait)
      }
      let owner = WorkOwner(client: network, account: client)
      outcome = try await WorkOwner.$current.withValue(owner) {
        do {
          return try await store.accept(body, for: client)
        } catch let refusal as ClientRefusal { throw HTTPError(refusal) }
      }
    }
    count(outcome)
    switch outcome {
    case .unknown: return .success(.accepted)
    case .repeated: return Response(.ok)
    default:
      pushes.wake(store.queue.kinds)
      return Response(.accepted)
    }
  }

  /// Reads a body.
  ///
  /// - Throws: 400 if it is no JSON, or a member has another type.
  private static func body<Body: Decodable>(
    of request: Request, as type: Body.Type
  ) throws(HTTPError) -> Body {
    guard let body = try? JSONDecoder().decode(type, from: Data(request.body)) else {
      throw HTTPError(.badRequest, "body", "the body isn't JSON of the expected form")
    }
    return body
  }
}

extension HTTPError {
  /// Makes a refusal with the name that clients know it by, and what is wrong with fields of the header, which begin with a
  /// capital letter, or of the body.
  init(_ status: Status, _ name: String, _ message: String, _ fields: [String: String] = [:]) {
    self.init(status, message)
    members = fields
    members["name"] = name
  }

  /// The name of the refusal of a message that isn't the relay's.
  static let forgery = "webhook_validation_failed"

  /// Makes the refusal of a message that isn't the relay's.
  static func forged(_ message: String, _ fields: [String: String] = [:]) -> HTTPError {
    HTTPError(.unauthorized, forgery, message, fields)
  }

  /// Makes the refusal of a field of the body.
  static func field(_ name: String, _ fault: String) -> HTTPError {
    HTTPError(.badRequest, "field", "\(name) \(fault)", [name: fault])
  }

  /// The refusal of a request that isn't, or not well, signed by its client.
  static var authentication: HTTPError {
    HTTPError(
      .unauthorized, "authentication", "the provided authentication is not sufficient",
      ["Authorization": "invalid authorization token"])
  }

  /// The response to a failure, as WalletConnect's push server writes it.
  var failure: Response {
    var members = members
    let names: [Status: String] = [.contentTooLarge: "body", .tooManyRequests: "rate_limited"]
    let name = members.removeValue(forKey: "name") ?? names[status] ?? "unavailable"
    let text = JSONWriter.text { body in
      body["status"] = "FAILURE"
      body.add(
        "errors",
        list: { errors in
          errors.append(object: { error in
            error["name"] = name
            error["message"] = message
          })
        })
      body.add(
        "fields",
        list: { fields in
          for (field, fault) in members.sorted(by: { $0.key < $1.key }) {
            fields.append(object: { entry in
              entry["field"] = field
              entry["description"] = fault
              entry["location"] = field.first?.isUppercase == true ? "header" : "body"
            })
          }
        })
    }
    return Response(status, type: "application/json", text: text)
  }
}

extension HTTPError {
  /// Maps a refusal of the store to a response.
  init(_ refusal: ClientRefusal) {
    switch refusal {
    case .notSigned: self = .authentication
    case .noRoom:
      self.init(
        .serviceUnavailable, "there are as many clients as there may be", retryAfter: 60)
    case .missing(let names): self = .field(names, "missing from request")
    case .noWords:
      self.init(.accepted, "json", "blob isn't the base64 of JSON with a title and a body")
    }
  }
}

extension Response {
  /// Makes the response to a request that is done.
  static func success(_ status: Status) -> Response {
    Response(
      status, type: "application/json", text: #"{"status":"SUCCESS","errors":null,"fields":null}"#)
  }
}
