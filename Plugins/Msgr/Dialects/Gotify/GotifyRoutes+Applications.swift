internal import Cryptography
internal import Formats
internal import HTTPProtocol
internal import Routing

// Applications: the publishers of an account.
extension GotifyRoutes {
  func registerApplications(_ prefix: String, on router: inout Router) {
    on([.get], "\(prefix)/application", &router) { request, _ in
      let caller = try await caller(request)
      let applications = try await service.store.applications(of: caller.account)
      let tokens = applications.map { token(of: $0, for: caller.token) }
      if let client = caller.hash {
        let aliases = zip(applications, tokens).compactMap { application, token in
          token.flatMap { token in application.publisher.map { (token.hash, $0) } }
        }
        try await service.store.keep(aliases, for: client)
      }
      return Self.json(
        .list(zip(applications, tokens).map { GotifyMessage.json(of: $0, token: $1?.text) }))
    }
    on([.post], "\(prefix)/application", &router) { request, _ in
      let caller = try await caller(request)
      let body = try Self.object(request)
      let token = BearerToken(.gotify, randomBytes: service.randomBytes)
      let application = try await service.store.addApplication(
        named: try Self.name(in: body), description: Self.description(in: body),
        defaultPriority: Self.priority(in: body), of: caller.account, token.hash
      ) { [topics] transaction in try topics.store.requireGood(caller.credential, transaction) }
      return Self.json(GotifyMessage.json(of: application, token: token.text))
    }
    on([.put], "\(prefix)/application/{id}", &router) { request, parameters in
      let caller = try await caller(request)
      let body = try Self.object(request)
      let application = try await service.store.changeApplication(
        try Self.id(parameters), named: try Self.name(in: body),
        description: Self.description(in: body), defaultPriority: Self.priority(in: body),
        of: caller.account)
      guard let application else { throw GotifyError.notFound }
      let token = token(of: application, for: caller.token)
      return Self.json(GotifyMessage.json(of: application, token: token?.text))
    }
    on([.delete], "\(prefix)/application/{id}", &router) { request, parameters in
      let account = try await caller(request).account
      guard try await service.store.endApplication(try Self.id(parameters), of: account) else {
        throw GotifyError.notFound
      }
      return Response(.ok)
    }
    on([.get], "\(prefix)/application/{id}/message", &router) { request, parameters in
      let caller = try await caller(request)
      let sender = try await sender(try Self.id(parameters), of: caller.account)
      return try await messages(request, of: caller.account, from: sender)
    }
    on([.delete], "\(prefix)/application/{id}/message", &router) { request, parameters in
      let account = try await caller(request).account
      let sender = try await sender(try Self.id(parameters), of: account)
      _ = try await service.store.deletePublished(of: account, from: sender)
      return Response(.ok)
    }
    on([.get, .post, .delete], "\(prefix)/application/{id}/image", &router) { _, _ in
      throw GotifyError.notFound
    }
  }

  /// Makes the token of an application that a client shows and sends with. awd keeps hashes only, so that it is made of the
  /// client's own token each time, and ends with that.
  private func token(
    of application: PublishingApplication, for client: String?
  ) -> BearerToken? {
    guard let client, application.publisher != nil else { return nil }
    var round = 0
    let text = RandomText.make(14) { count in
      round += 1
      // Without OpenSSL's help the token is another one each time, and good as well.
      return HKDF.derive(
        from: Array(client.utf8), salt: Array("gotify".utf8),
        info: Array("\(application.id) \(round)".utf8), count: count)
        ?? service.randomBytes(count)
    }
    return BearerToken(made: "A" + text)
  }

  func sender(_ id: Int64, of account: UserName) async throws -> UserName {
    let applications = try await service.store.applications(of: account)
    guard let application = applications.first(where: { $0.id == id }) else {
      throw GotifyError.notFound
    }
    return application.sender
  }

  private static func description(in body: JSONValue) -> String {
    PlainText.cut(PlainText.line(body["description"]?.string ?? ""), toBytes: 1024)
  }

  private static func priority(in body: JSONValue) -> Int {
    let number =
      body["defaultpriority"]?.integer ?? body["defaultpriority"]?.string.flatMap { Int64($0) }
    return Int(min(10, max(0, number ?? 0)))
  }
}
