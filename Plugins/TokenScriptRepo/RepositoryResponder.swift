internal import Cryptography
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Time

/// Answers the requests of wallets from the index, on the event loop: it never waits.
struct RepositoryResponder: Sendable {
  /// The index of this moment.
  let published: Published<ContractIndex>
  /// What becomes of several files.
  let rules: RepositoryRules
  /// Which versions the known wallets read.
  let clients: [ClientRule]
  /// The version that a bare address means where the client tells nothing.
  let defaultSchema: SchemaVersion?
  /// The server's URL as seen from outside; nil: taken from requests for `hosts`.
  let publicURL: String?
  /// The host names that the server answers to.
  let hosts: [String]
  /// The fields of every answer.
  let fields: AnswerFields
  /// Where oddities of requests are told.
  let log: Log
  /// Tells the time.
  let clock: @Sendable () -> Timestamp

  /// Answers `/<address>`: with the file of the version that suits the client.
  ///
  /// - Throws: ``HTTPError``: 400, 404, 410.
  func bare(_ request: Request, _ parameters: RouteParameters) throws(HTTPError) -> Response {
    let key = try key(parameters["address"])
    guard let editions = published.value.editions[key] else { throw HTTPError(.notFound) }
    let signer = try signer(request.head)
    if signer == nil, editions.count == 1 {
      return try answer(request.head, editions[0].bareAnswer)
    }
    let live = editions.filter { edition in
      guard let signer else { return !edition.candidates.isEmpty }
      return edition.candidates.contains { $0.isSigned(by: signer) }
    }
    guard let edition = ordered(live, for: request.head).first else {
      throw HTTPError(editions.contains { !$0.candidates.isEmpty } ? .notFound : .gone)
    }
    return try answer(
      request.head, answer(of: edition, signer, isBare: true) ?? edition.bareAnswer)
  }

  /// Answers `/<YYYY>/<MM>/<address>`: with the file in that version, and never another's.
  ///
  /// - Throws: ``HTTPError``: 400, 404, 410.
  func versioned(_ request: Request, _ parameters: RouteParameters) throws(HTTPError) -> Response {
    let key = try key(parameters["address"])
    guard let schema = SchemaVersion(year: parameters["year"], month: parameters["month"]),
      let edition = published.value.edition(of: key, schema)
    else { throw HTTPError(.notFound) }
    return try answer(
      request.head,
      answer(of: edition, signer(request.head), isBare: false) ?? edition.answer)
  }

  /// Answers `/<YYYY>/<MM>/…/*.xsd`: with a schema.
  ///
  /// - Throws: ``HTTPError``: 404.
  func schema(_ request: Request, _ parameters: RouteParameters) throws(HTTPError) -> Response {
    guard let version = SchemaVersion(year: parameters["year"], month: parameters["month"]),
      let document = published.value.documents.document(version, parameters["name"])
    else { throw HTTPError(.notFound) }
    return document.response(to: request.head, now: HTTPDate(clock().seconds))
  }

  /// Answers `/tokenscript/<address>/chain/<id>/script-uri`.
  ///
  /// - Throws: ``HTTPError``: 400, 404.
  func scriptURI(_ request: Request, _ parameters: RouteParameters) throws -> Response {
    let key = try key(parameters["address"])
    guard let network = parameters.text("network").flatMap({ UInt64($0) }) else {
      throw HTTPError(.badRequest, "a chain is a number")
    }
    guard let base = base(for: request) else {
      throw HTTPError(.notFound, "the server's public URL is not configured")
    }
    let editions = ordered(published.value.editions[key] ?? [], for: request.head)
    var response = try Response(
      .ok, json: ScriptURI(editions, network: network, base: base))
    response.fields.append(contentsOf: fields.common)
    return response
  }

  /// The server's URL as seen from outside. A host name that isn't the server's own is not repeated.
  private func base(for request: Request) -> String? {
    if let publicURL { return publicURL }
    guard hosts.contains(request.head.host) else { return nil }
    return "\(request.origin.isSecure ? "https" : "http")://\(request.head.authority)"
  }

  private func key(_ segment: ArraySlice<UInt8>) throws(HTTPError) -> ContractKey {
    if let key = ContractKey(segment) {
      // Told to who looks for it only: wallets send mixed case, and the hash takes its time.
      if log.writes(.debug), EthereumAddress.checksum(of: segment) == .wrong {
        log.debug(
          "wrong address checksum", ["address": String(decoding: segment, as: UTF8.self)])
      }
      return key
    }
    throw HTTPError(.badRequest, "an address is 0x and 40 hexadecimal digits")
  }

  /// The value of `?signer=`; nil if it is absent or empty.
  private func signer(_ head: RequestHead) throws(HTTPError) -> String? {
    guard let query = head.query, !query.isEmpty else { return nil }
    guard let form = URLEncodedForm(query) else {
      throw HTTPError(.badRequest, "malformed percent-encoding in the query")
    }
    guard let signer = form["signer"], !signer.isEmpty else { return nil }
    return signer
  }

  /// The versions, the newest first, but before all others the one that suits the client: the newest
  /// that it is known to read, else the default one.
  private func ordered(
    _ editions: [ContractIndex.Edition], for head: RequestHead
  ) -> [ContractIndex.Edition] {
    guard editions.count > 1 else { return editions }
    let readable = clients.lazy.filter { $0.matches(head) }.compactMap { client in
      editions.firstIndex { client.schemas.contains($0.schema) }
    }
    guard
      let first = readable.first ?? editions.firstIndex(where: { $0.schema == defaultSchema })
    else { return editions }
    var editions = editions
    editions.insert(editions.remove(at: first), at: 0)
    return editions
  }

  /// The answer where a signer is named; nil where none is, or nothing is there to choose from.
  private func answer(
    of edition: ContractIndex.Edition, _ signer: String?, isBare: Bool
  ) throws(HTTPError) -> ContractIndex.Answer? {
    guard let signer, !edition.candidates.isEmpty else { return nil }
    let candidates = edition.candidates.filter { $0.isSigned(by: signer) }
    guard !candidates.isEmpty else {
      throw HTTPError(.notFound, "no such signer has published a file for this contract")
    }
    let selection = Selection(candidates, for: edition.contract, by: rules)
    let since = edition.signers[signer.lowercased()] ?? Publications.Since()
    return ContractIndex.Answer(
      selection, for: edition.contract, edition.schema,
      since: isBare ? since.bare : since.versioned, fields)
  }

  private func answer(
    _ head: RequestHead, _ answer: ContractIndex.Answer
  ) throws(HTTPError) -> Response {
    switch answer {
    case .file(let file): return file.response(to: head, now: HTTPDate(clock().seconds))
    case .choices(let choices): return choices.response(to: head)
    case .gone: throw HTTPError(.gone)
    }
  }
}
