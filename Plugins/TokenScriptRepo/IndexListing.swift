internal import Cryptography
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Time

/// Answers `/`: the index as a page for people or as JSON for programs, made on request.
actor IndexListing {
  private let fields: AnswerFields
  // Pages differ with what is searched for, so they aren't kept; the queue bounds what they cost.
  private let queue = WorkQueue(
    width: 1, room: 64, excuse: "too many pages of the index are being made")
  private var generation = 0
  private var json: Response?

  /// A listing of nothing yet.
  ///
  /// - Parameter fields: the fields of every answer.
  init(_ fields: AnswerFields) { self.fields = fields }

  /// Answers `/`.
  ///
  /// - Parameters:
  ///   - head: the request. Its `Accept`, or `format=json` in its query, decides between JSON and
  ///     HTML, which is the default; `q` and `page` choose the rows of the HTML.
  ///   - index: what is listed.
  ///   - links: further pages that the client may see.
  /// - Returns: 200 with all rows as JSON, or one page as HTML.
  /// - Throws: ``HTTPError``, 400 for a malformed query, 503 where too many are waiting;
  ///   ``SystemError`` without room for a thread.
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
    return try await queue.run { [fields] in
      var page = IndexPage(index, query: form["q"] ?? "", number: number)
      page.links = links
      let response = Response(.ok, type: "text/html; charset=utf-8", text: page.html)
      return Self.shared(response, fields.common, AnswerFields.ofIndexPage)
    }
  }

  /// All rows as JSON, made once for each index.
  private func listing(of index: ContractIndex) async throws -> Response {
    if index.generation != generation {
      generation = index.generation
      json = nil
    }
    if let json { return json }
    let made = try await queue.run { [fields] in
      try Self.shared(
        Response(.ok, json: ["contracts": index.rows.map(Item.init)]), fields.common,
        AnswerFields.ofForeignContent)
    }
    if generation == index.generation { json = made }
    return made
  }

  /// The response with its body in memory that connections share.
  private static func shared(_ response: Response, _ fields: HeaderFields...) -> Response {
    var response = response
    for more in fields { response.fields.append(contentsOf: more) }
    if case .array(let bytes) = response.body { response.body = .bytes(Bytes(bytes)) }
    return response
  }

  /// A row as programs get it.
  struct Item: Encodable {
    let contract: String?
    let name: String?
    let networks: [UInt64]
    let schema: String?
    let time: String?
    let signer: String?
    let key: String?
    let kind: String?
    let path: String
    let sha256: String?
    let size: Int
    let state: String
    let warnings: [String]

    init(_ row: IndexRow) {
      contract = row.contract?.checksummed
      name = row.name
      networks = row.networks
      schema = row.schema?.path
      time = row.time.map { "\(Timestamp(seconds: $0))" }
      signer = row.signer.map { $0.commonName ?? $0.key }
      key = row.signer?.key
      kind = row.signer?.kind
      path = row.path.text
      sha256 = row.digest.map(Hex.encode)
      size = row.size
      state = row.state.words
      warnings = row.warnings
    }

    private enum Key: CodingKey {
      case contract, name, networks, schema, time, signer, key, kind, path, sha256, size, state
      case warnings
    }

    /// Writes every key, with null for what isn't there.
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(contract, forKey: .contract)
      try container.encode(name, forKey: .name)
      try container.encode(networks, forKey: .networks)
      try container.encode(schema, forKey: .schema)
      try container.encode(time, forKey: .time)
      try container.encode(signer, forKey: .signer)
      try container.encode(key, forKey: .key)
      try container.encode(kind, forKey: .kind)
      try container.encode(path, forKey: .path)
      try container.encode(sha256, forKey: .sha256)
      try container.encode(size, forKey: .size)
      try container.encode(state, forKey: .state)
      try container.encode(warnings, forKey: .warnings)
    }
  }
}
