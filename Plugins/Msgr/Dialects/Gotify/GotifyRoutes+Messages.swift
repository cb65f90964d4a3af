internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Routing
internal import Storage

// Messages that publishers have sent to an account.
extension GotifyRoutes {
  private static let defaultLimit = 100
  private static let limits = 1...200

  func registerMessages(_ prefix: String, on router: inout Router) {
    on([.get], "\(prefix)/message", &router) { request, _ in
      try await messages(request, of: try await caller(request).account, from: nil)
    }
    on([.delete], "\(prefix)/message", &router) { request, _ in
      _ = try await service.store.deletePublished(of: try await caller(request).account)
      return Response(.ok)
    }
    on([.delete], "\(prefix)/message/{id}", &router) { request, parameters in
      let account = try await caller(request).account
      let id = try Self.id(parameters)
      guard try await service.store.deletePublished(of: account, number: id) else {
        throw GotifyError.notFound
      }
      return Response(.ok)
    }
  }

  func messages(
    _ request: Request, of account: UserName, from sender: UserName?
  ) async throws -> Response {
    let query = request.head.query.map { URLEncodedForm(lenient: $0) }
    let limit = try Self.number(query?["limit"], default: Self.defaultLimit, named: "limit")
    guard Self.limits.contains(limit) else {
      throw GotifyError.bad("limit is not from 1 to \(Self.limits.upperBound)")
    }
    let since = try Self.number(query?["since"], default: 0, named: "since")
    let below = since > 0 ? Int64(since) : .max
    let names = try await service.store.shownNames(of: account)
    let list = JSONListReading<Message>(
      atMost: limit, opening: Array(#"{"messages":["#.utf8),
      closing: { end in
        let last = end.last?.number ?? 0
        let paging = JSONValue.object([
          "size": .integer(end.count), "limit": .integer(limit),
          "since": .integer(end.hasMore ? last : 0),
          "next": end.hasMore ? .text(next(request, limit: limit, since: last)) : nil,
        ])
        return Array(#"],"paging":"#.utf8) + paging.bytes + Array("}".utf8)
      },
      encode: { GotifyMessage.json(of: $0, for: account, names).bytes }
    ) { [store = service.store] last, count in
      try await store.publishedMessages(
        of: account, below: last?.number ?? below, from: sender, atMost: count)
    }
    return Self.json(try await list.body())
  }

  private func next(_ request: Request, limit: Int, since: Int64) -> String {
    let base = topics.baseURL(of: request)
    let path = String(decoding: request.head.path, as: UTF8.self)
    return "\(base)\(path)?limit=\(limit)&since=\(since)"
  }

  private static func number(
    _ text: String?, default fallback: Int, named name: String
  ) throws(GotifyError) -> Int {
    guard let text, !text.isEmpty else { return fallback }
    guard let number = Int(text), number >= 0 else {
      throw .bad("\(name) is no whole number")
    }
    return number
  }
}
