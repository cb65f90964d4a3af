internal import FoundationEssentials
internal import Glibc
internal import HTTPProtocol
internal import HTTPServer
internal import Storage
internal import Formats

/// The routes of the probe server.
struct ProbeResponder: Responder {
  let store: Store
  private let document: Bytes
  private let fields: HeaderFields
  private let validators: Validators

  init(store: Store) {
    self.store = store
    let line = "<entry>The quick brown fox jumps over the lazy dog.</entry>\n"
    document = Bytes(Array("<doc>\n\(String(repeating: line, count: 560))</doc>\n".utf8))
    let modified = HTTPDate(1_700_000_000)
    let tag = EntityTag("probe")
    validators = Validators(entityTag: tag, lastModified: modified)
    var fields = HeaderFields()
    fields.append(.contentType, "text/xml; charset=UTF-8")
    fields.append(.lastModified, modified.text)
    fields.append(.entityTag, tag.text)
    fields.append(.cacheControl, "no-cache")
    self.fields = fields
  }

  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    let isRead = head.method == .get || head.method == .head
    switch String(decoding: head.path, as: UTF8.self) {
    case "/doc.xml":
      return isRead ? .respond(bodyLimit: 65536, respondWithDocument) : refuse("GET, HEAD")
    case "/gone.xml": return .refuse(Response(.gone))
    case "/multi": return .refuse(Response(.multipleChoices))
    case "/get": return isRead ? .task(bodyLimit: 65536, respondToGet) : refuse("GET, HEAD")
    case "/put":
      return head.method == .post ? .task(bodyLimit: 65536, respondToPut) : refuse("POST")
    case "/api/x":
      return head.method == .post ? .respond(bodyLimit: 65536, respondToPost) : refuse("POST")
    case "/ws":
      return .webSocket { _ in .accept(WebSocketAcceptance { Echo(session: $0) }) }
    default: return .refuse(Response(.notFound))
    }
  }

  private func refuse(_ allowed: String) -> RequestPlan {
    var response = Response(.methodNotAllowed)
    response.fields.append(.allow, allowed)
    return .refuse(response)
  }

  @Sendable private func respondWithDocument(_ request: Request) -> Response {
    let outcome = Preconditions.evaluate(
      request.head, validators, now: HTTPDate(Int64(time(nil))))
    switch outcome {
    case .notModified: return Response(.notModified, fields: fields)
    case .failed: return Response(.preconditionFailed)
    case .proceed: return Response(.ok, fields: fields, body: .bytes(document))
    }
  }

  /// As strict as an API may be: text is UTF-8 without a byte order mark or U+0000, nothing is encoded.
  @Sendable private func respondToPost(_ request: Request) -> Response {
    guard request.head.value(.contentEncoding) == nil else { return Response(Status(415)) }
    let pairs = try? JSONDecoder().decode([String: String].self, from: Data(request.body))
    let isTaken =
      !request.body.starts(with: "\u{feff}".utf8)
      && pairs?.allSatisfy { !($0.key + $0.value).utf8.contains(0) } == true
    var response = Response(isTaken ? .ok : .badRequest)
    response.fields.append(.cacheControl, "no-store")
    return response
  }

  @Sendable private func respondToPut(_ request: Request) async -> Response {
    guard let pair = try? JSONDecoder().decode([String: String].self, from: Data(request.body)),
      let id = pair["id"], let value = pair["v"]
    else { return Response(.badRequest) }
    do {
      try await store.write { transaction in
        try transaction.execute("INSERT OR REPLACE INTO kv VALUES (?, ?)", id, value)
      }
      return Response(.ok)
    } catch {
      return Response(.serviceUnavailable)
    }
  }

  @Sendable private func respondToGet(_ request: Request) async -> Response {
    let query = String(decoding: request.head.query ?? [], as: UTF8.self)
    guard query.hasPrefix("id=") else { return Response(.badRequest) }
    do {
      let value = try await store.read { snapshot in
        try snapshot.one("SELECT v FROM kv WHERE id = ?", String(query.dropFirst(3))) {
          try $0[0] as String
        }
      }
      return value.map { Response(.ok, type: "text/plain", text: $0) } ?? Response(.notFound)
    } catch {
      return Response(.serviceUnavailable)
    }
  }
}

/// Sends every message back.
private final class Echo: WebSocketHandler {
  private let session: WebSocketSession

  init(session: WebSocketSession) { self.session = session }

  func received(_ message: WebSocketMessage) { session.send(message) }

  func closed(_ code: UInt16?) {}
}
