internal import Cryptography
internal import HTTPProtocol
internal import Observability
internal import ServiceKit

/// The index as a table, for people and for programs; made when somebody asks, once for each index.
actor IndexListing {
  private let fields: AnswerFields
  private var generation = 0
  private var json: Response?
  private var html: Response?

  /// A listing of nothing yet.
  ///
  /// - Parameter fields: the fields of every answer.
  init(_ fields: AnswerFields) { self.fields = fields }

  /// Answers `/`.
  ///
  /// - Parameters:
  ///   - head: the request, whose `Accept` decides between JSON and HTML, which is the default.
  ///   - index: what is listed.
  /// - Returns: 200 with all rows.
  /// - Throws: ``SystemError`` without room for a thread.
  func response(to head: RequestHead, for index: ContractIndex) async throws -> Response {
    if index.generation != generation {
      generation = index.generation
      json = nil
      html = nil
    }
    let accept = AcceptList(head, .accept)
    let quality = accept.quality(of: "application/json") ?? 0
    if quality > 0, quality >= accept.quality(of: "text/html") ?? 0 {
      if let json { return json }
      let made = try await WorkerThreads.run { [fields] in
        try Self.shared(Response(.ok, json: ["contracts": index.rows.map(Item.init)]), fields)
      }
      if generation == index.generation { json = made }
      return made
    }
    if let html { return html }
    let made = try await WorkerThreads.run { [fields] in
      Self.shared(
        Response(.ok, type: "text/html; charset=utf-8", text: Self.page(index)), fields)
    }
    if generation == index.generation { html = made }
    return made
  }

  /// The response with its body in memory that connections share.
  private static func shared(_ response: Response, _ fields: AnswerFields) -> Response {
    var response = response
    response.fields.append(contentsOf: fields.common)
    response.fields.append(contentsOf: AnswerFields.ofForeignContent)
    if case .array(let bytes) = response.body { response.body = .bytes(Bytes(bytes)) }
    return response
  }

  private static func page(_ index: ContractIndex) -> String {
    var text = """
      <!doctype html>
      <title>TokenScript repository</title>
      <h1>TokenScript repository</h1>
      <p>\(index.summary.htmlEscaped)</p>
      <table border="1">
      <tr><th>Contract<th>Name<th>Networks<th>Schema<th>Signed<th>Signer<th>File<th>State<th>Warnings

      """
    for item in index.rows.map(Item.init) {
      let contract = item.contract.map { contract in
        item.schema.map { "<a href=\"/\($0)/\(contract)\">\(contract)</a>" } ?? contract
      }
      let cells = [
        contract ?? "", (item.name ?? "").htmlEscaped,
        item.networks.map { "\($0)" }.joined(separator: ", "), item.schema ?? "",
        item.time ?? "", (item.signer ?? "").htmlEscaped, item.path.htmlEscaped,
        item.state.htmlEscaped, item.warnings.map(\.htmlEscaped).joined(separator: "<br>"),
      ]
      text += "<tr><td>\(cells.joined(separator: "<td>"))\n"
    }
    return text + "</table>\n"
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
