internal import Cryptography
internal import HTTPProtocol
internal import ServiceKit
internal import Threading
internal import Time
internal import TokenScriptReading
internal import Wire

/// Responds to `/` with the index: a page for people, or JSON for programs.
actor IndexListing {
  private static let busy = "too many pages of the index are being made"

  private let headers: ResponseHeaders
  // Pages depend on the search, so they are not cached; one thread and a short queue bound their cost.
  private let threads = ThreadPool(named: "awd-page", width: 1, queue: 64)
  private var generation = 0
  private var json: Response?

  /// Makes a listing.
  ///
  /// - Parameter headers: the header fields of responses.
  init(_ headers: ResponseHeaders) { self.headers = headers }

  /// Responds to `/`.
  ///
  /// - Parameters:
  ///   - head: the request. Its `Accept`, or `format=json` in its query, decides between JSON and
  ///     HTML, which is the default; `q` and `page` select the rows of the HTML.
  ///   - index: the index.
  ///   - links: the links to further pages that the client may see.
  /// - Returns: 200 with all rows as JSON, or one page as HTML.
  /// - Throws: ``HTTPError`` with status 400 for a malformed query, or 503 if too many requests wait; ``SystemError``
  ///   if no thread can be started.
  func response(
    to head: RequestHead, for index: ContractIndex, links: [PageLink] = []
  ) async throws -> Response {
    guard let form = URLEncodedForm(head.query ?? []) else {
      throw HTTPError(.badRequest, "malformed percent-encoding in the query")
    }
    let accept = AcceptList(head, .accept)
    let quality = accept.quality(of: "application/json") ?? 0
    if form["format"] == "json"
      || quality > 0 && quality >= accept.quality(of: "text/html") ?? 0
    {
      return try await listing(of: index)
    }
    let number = form["page"].flatMap { Int($0) } ?? 1
    return try await threads.run(orRefuseWith: Self.busy) { [headers] in
      var page = IndexPage(index, query: form["q"] ?? "", number: number)
      page.links = links
      let response = Response(.ok, type: "text/html; charset=utf-8", text: page.html)
      return Self.shared(response, headers.common, ResponseHeaders.indexPage)
    }
  }

  /// Returns all rows as JSON, which is made once for each index.
  private func listing(of index: ContractIndex) async throws -> Response {
    if index.generation != generation {
      generation = index.generation
      json = nil
    }
    if let json { return json }
    let made = try await threads.run(orRefuseWith: Self.busy) { [headers] in
      try Self.shared(
        Response(.ok, json: ["contracts": index.rows.map(Item.init)]), headers.common,
        ResponseHeaders.foreignContent)
    }
    if generation == index.generation { json = made }
    return made
  }

  /// Adds header fields, and moves the body into memory that connections share.
  private static func shared(_ response: Response, _ fields: HeaderFields...) -> Response {
    var response = response
    for more in fields { response.fields.append(contentsOf: more) }
    if case .array(let bytes) = response.body { response.body = .bytes(Bytes(bytes)) }
    return response
  }

  /// A row in JSON, which has every key, with null for a missing value.
  struct Item: Encodable {
    @Nullable var contract: String?
    @Nullable var name: String?
    let networks: [UInt64]
    @Nullable var schema: String?
    @Nullable var time: String?
    @Nullable var signer: String?
    @Nullable var key: String?
    @Nullable var kind: String?
    let path: String
    @Nullable var sha256: String?
    let size: Int
    let state: String
    let warnings: [String]

    init(_ row: IndexRow) {
      contract = row.contract?.checksummed
      name = row.name
      networks = row.networks
      schema = row.schema?.path
      time = row.time?.description
      signer = row.signer.map { $0.commonName ?? $0.key }
      key = row.signer?.key
      kind = row.signer?.kind
      path = row.path.text
      sha256 = row.digest?.hex
      size = row.size
      state = row.state.words
      warnings = row.warnings
    }
  }
}

/// A value that is encoded as null if it is missing.
@propertyWrapper
struct Nullable<Value: Encodable>: Encodable {
  var wrappedValue: Value?

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}
