internal import Cryptography
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Time
internal import TokenScriptReading

/// Responds to wallets' requests from the index, on the event loop and without waiting.
struct RepositoryResponder: Sendable {
  /// The index in service.
  let index: AtomicReference<ContractIndex>
  /// The rules of choice.
  let rules: RepositoryRules
  /// The versions that known wallets read.
  let clients: [ClientRule]
  /// The version at a bare address for clients that are not known.
  let defaultSchema: SchemaVersion?
  /// The server's URL as seen from outside, or nil to take it from requests for ``hosts``.
  let publicURL: String?
  /// The host names of the service.
  let hosts: [String]
  /// The header fields of responses.
  let headers: ResponseHeaders
  /// Is told about oddities of requests.
  let log: Log
  /// Tells the time.
  let clock: @Sendable () -> Timestamp

  /// Responds to `/<address>` with the file of the version that suits the client.
  ///
  /// - Throws: ``HTTPError`` with status 400, 404 or 410.
  func bare(_ request: Request, _ parameters: RouteParameters) throws(HTTPError) -> Response {
    let key = try key(parameters["address"])
    guard let editions = index.value.editions[key] else { throw HTTPError(.notFound) }
    let signer = try signer(request.head)
    if signer == nil, editions.count == 1 {
      return try respond(to: request.head, with: editions[0].bareResponse)
    }
    let live = editions.filter { edition in
      guard let signer else { return !edition.candidates.isEmpty }
      return edition.candidates.contains { $0.isSigned(by: signer) }
    }
    guard let edition = ordered(live, for: request.head).first else {
      throw HTTPError(editions.contains { !$0.candidates.isEmpty } ? .notFound : .gone)
    }
    return try respond(
      to: request.head, with: response(of: edition, signer, isBare: true) ?? edition.bareResponse)
  }

  /// Responds to `/<YYYY>/<MM>/<address>` with the file of that version, and never another's.
  ///
  /// - Throws: ``HTTPError`` with status 400, 404 or 410.
  func versioned(_ request: Request, _ parameters: RouteParameters) throws(HTTPError) -> Response {
    let key = try key(parameters["address"])
    guard let schema = SchemaVersion(year: parameters["year"], month: parameters["month"]),
      let edition = index.value.edition(of: key, schema)
    else { throw HTTPError(.notFound) }
    return try respond(
      to: request.head,
      with: response(of: edition, signer(request.head), isBare: false) ?? edition.response)
  }

  /// Responds to `/<YYYY>/<MM>/…/*.xsd` with a schema.
  ///
  /// - Throws: ``HTTPError`` with status 404.
  func schema(_ request: Request, _ parameters: RouteParameters) throws(HTTPError) -> Response {
    guard let version = SchemaVersion(year: parameters["year"], month: parameters["month"]),
      let document = index.value.documents.document(version, parameters["name"])
    else { throw HTTPError(.notFound) }
    return document.response(to: request.head, now: HTTPDate(clock().seconds))
  }

  /// Responds to `/tokenscript/<address>/chain/<id>/script-uri` with the places of a contract's files.
  ///
  /// - Throws: ``HTTPError`` with status 400 or 404.
  func scriptURI(_ request: Request, _ parameters: RouteParameters) throws -> Response {
    let key = try key(parameters["address"])
    guard let network = parameters.text("network").flatMap({ UInt64($0) }) else {
      throw HTTPError(.badRequest, "a chain is a number")
    }
    guard let base = base(for: request) else {
      throw HTTPError(.notFound, "the server's public URL is not configured")
    }
    let editions = ordered(index.value.editions[key] ?? [], for: request.head)
    var response = try Response(
      .ok, json: ScriptURI(editions, network: network, base: base))
    response.fields.append(contentsOf: headers.common)
    return response
  }

  /// Returns the server's URL as seen from outside; a foreign `Host` is not repeated.
  private func base(for request: Request) -> String? {
    if let publicURL { return publicURL }
    guard hosts.contains(request.head.host) else { return nil }
    return "\(request.origin.isSecure ? "https" : "http")://\(request.head.authority)"
  }

  private func key(_ segment: ArraySlice<UInt8>) throws(HTTPError) -> ContractKey {
    if let key = ContractKey(segment) {
      // Checked only if the line is wanted: wallets send mixed case, and the hash takes its time.
      if log.writes(.debug), EthereumAddress.checksum(of: segment) == .wrong {
        log.debug(
          "wrong address checksum", ["address": String(decoding: segment, as: UTF8.self)])
      }
      return key
    }
    throw HTTPError(.badRequest, "an address is 0x and 40 hexadecimal digits")
  }

  /// Returns the value of `?signer=`, or nil if it is absent or empty.
  private func signer(_ head: RequestHead) throws(HTTPError) -> String? {
    guard let query = head.query, !query.isEmpty else { return nil }
    guard let form = URLEncodedForm(query) else {
      throw HTTPError(.badRequest, "malformed percent-encoding in the query")
    }
    guard let signer = form["signer"], !signer.isEmpty else { return nil }
    return signer
  }

  /// Moves the version that suits the client to the front: the newest that it is known to read, or else the default.
  ///
  /// The others stay in their order, the newest first.
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

  /// Returns the response with a signer's file, or nil if no signer is named or the contract is gone.
  private func response(
    of edition: ContractIndex.Edition, _ signer: String?, isBare: Bool
  ) throws(HTTPError) -> ContractIndex.PreparedResponse? {
    guard let signer, !edition.candidates.isEmpty else { return nil }
    let candidates = edition.candidates.filter { $0.isSigned(by: signer) }
    guard !candidates.isEmpty else {
      throw HTTPError(.notFound, "no such signer has published a file for this contract")
    }
    let selection = Selection(candidates, for: edition.contract, by: rules)
    let since = edition.signers[signer.lowercased()] ?? PublicationTimes.Since()
    return ContractIndex.PreparedResponse(
      selection, for: edition.contract, edition.schema,
      since: isBare ? since.bare : since.versioned, headers)
  }

  private func respond(
    to head: RequestHead, with response: ContractIndex.PreparedResponse
  ) throws(HTTPError) -> Response {
    switch response {
    case .file(let file): return file.response(to: head, now: HTTPDate(clock().seconds))
    case .choices(let choices): return choices.response(to: head)
    case .gone: throw HTTPError(.gone)
    }
  }
}
