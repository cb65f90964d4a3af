internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Routing
internal import ServiceKit

// The requests below `/v1`, about the server and accounts.
extension NtfyRoutes {
  /// The date of the program, which clients read as a moment even where it isn't known.
  private static let date =
    Product.date.first?.isNumber ?? false ? Product.date : "1970-01-01T00:00:00Z"

  func registerVersion1(on router: inout Router) {
    onV1(.get, "health", &router) { _, _ in Self.json(Array(Self.healthy.utf8)) }
    onV1(.get, "stats", &router) { request, _ in
      try topics.chargeReading(Self.anybody(from: request))
      return Self.json(
        .object([
          "messages": .integer(try await topics.statistics.storedMessages()),
          "messages_rate": .number(topics.statistics.rate),
        ]))
    }
    onV1(.get, "config", &router) { request, _ in
      Self.json(configuration(base: topics.baseURL(of: request)))
    }
    on([.get], "/config.js", &router) { request, _ in
      let script = "var config = \(configuration(base: topics.baseURL(of: request)).json);\n"
      return Response(.ok, type: "text/javascript; charset=utf-8", text: script)
    }
    onV1(.get, "version", &router) { request, _ in
      guard try await requester(request).caller.account != nil else { throw TopicRefusal.forbidden }
      return Self.json(
        .object([
          "version": .text(Product.version), "commit": .text(Product.commit),
          "date": .text(Self.date),
        ]))
    }
    onV1(.get, "account", &router) { request, _ in
      Self.json(try await account(of: try await requester(request)))
    }
    onV1(.post, "account/token", &router) { try await makeToken($0, $1) }
    on(Self.methods, "/v1/{rest...}", &router) { _, _ in throw NtfyError.notFound }
  }

  /// Registers a request below `/v1`, where any other method finds nothing.
  private func onV1(
    _ method: HTTPProtocol.Method, _ path: String, _ router: inout Router, _ act: @escaping Answer
  ) {
    on([method], "/v1/\(path)", &router, act)
    on(Self.methods.filter { $0 != method }, "/v1/\(path)", &router) { _, _ in
      throw NtfyError.notFound
    }
  }

  /// A requester of what needs no account.
  private static func anybody(from request: Request) -> TopicRequester {
    TopicRequester(
      caller: .nobody, credential: .nothing, site: request.origin.client.map { "\($0)" })
  }

  private func configuration(base: String) -> JSONValue {
    .object([
      "base_url": .text(base),
      "app_root": .text("/msgr/"),
      "enable_login": .truth(true),
      "require_login": .truth(false),
      "enable_signup": .truth(false),
      "enable_payments": .truth(false),
      "enable_calls": .truth(false),
      "enable_emails": .truth(false),
      "enable_reservations": .truth(false),
      "enable_web_push": .truth(false),
      "billing_contact": .text(""),
      "web_push_public_key": .text(""),
      "disallowed_topics": .list(ReservedTopics.names.sorted().map { .text($0) }),
    ])
  }
}
