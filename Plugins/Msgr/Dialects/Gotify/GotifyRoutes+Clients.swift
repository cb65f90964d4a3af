internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Routing

// Clients: the sessions of Gotify's apps.
extension GotifyRoutes {
  func registerClients(_ prefix: String, on router: inout Router) {
    on([.get], "\(prefix)/client", &router) { request, _ in
      let clients = try await service.store.gotifyClients(of: try await caller(request).account)
      return Self.json(.list(clients.map { GotifyMessage.json(of: $0, token: nil) }))
    }
    on([.post], "\(prefix)/client", &router) { request, _ in
      let caller = try await caller(request)
      let name = try Self.name(in: try Self.object(request))
      let token = BearerToken(.gotifyClient, randomBytes: service.randomBytes)
      let device = DeviceID(
        stored: DeviceID.gotifyPrefix + RandomText.make(16, randomBytes: service.randomBytes))
      service.end(
        try await service.store.addGotifyClient(
          named: name, of: caller.account, device: device, token.hash
        ) { [topics] transaction in try topics.store.requireGood(caller.credential, transaction) })
      let now = service.store.now
      let session = Session(
        token: token.hash, device: device, deviceName: name, created: now, used: now, kind: .gotify)
      return Self.json(GotifyMessage.json(of: session, token: token.text))
    }
    on([.put], "\(prefix)/client/{id}", &router) { request, parameters in
      let session = try await session(request, parameters)
      let name = try Self.name(in: try Self.object(request))
      try await service.store.rename(session, to: name)
      let renamed = Session(
        token: session.token, device: session.device, deviceName: name, created: session.created,
        used: session.used, kind: session.kind)
      return Self.json(GotifyMessage.json(of: renamed, token: nil))
    }
    on([.delete], "\(prefix)/client/{id}", &router) { request, parameters in
      service.end(try await service.store.end(try await session(request, parameters)))
      return Response(.ok)
    }
  }

  private func session(_ request: Request, _ parameters: RouteParameters) async throws -> Session {
    let account = try await caller(request).account
    let id = try Self.id(parameters)
    let sessions = try await service.store.gotifyClients(of: account)
    guard let session = sessions.first(where: { $0.number == id }) else {
      throw GotifyError.notFound
    }
    return session
  }
}
