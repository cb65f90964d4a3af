internal import Cryptography
internal import Ethereum
internal import Formats
internal import HTTPProtocol
internal import Observability
internal import Platform
internal import Routing

/// Responds to wallets' requests from the index, on the event loop and without waiting.
struct RepositoryResponder: Sendable {
  /// The state of the service.
  let repository: Repository

  private var index: ContractIndex { repository.index.value }

  private func readable(_ head: RequestHead) -> [SchemaVersion]? {
    repository.configuration.clients.schemas(readBy: head)
  }

  /// Responds to `/<address>` and `/chain/<id>/<address>` with the file of the version that suits the client, or with 204
  /// if the client is known to read none of the versions: old wallets then keep their file.
  ///
  /// - Throws: ``HTTPError`` with status 400, 404 or 410, or ``UnreadContent``.
  func bare(_ request: Request, _ parameters: RouteParameters) throws -> Response {
    let key = try key(ofFile: parameters["address"])
    let query = try FileQuery(request.head, chain: parameters["chain"])
    guard let editions = index.editions[key] else { throw Self.absent(isGone: false) }
    let readable = readable(request.head)
    if query.isEmpty, editions.count == 1, readable?.contains(editions.span[0].schema) ?? true {
      // By the span, as the array would copy the whole edition, and retain all that it has.
      return try respond(to: request.head, with: editions.span[0].bareResponse)
    }
    let live = editions.filter { $0.candidates.contains(where: query.selects) }
    let eligible = query.chain == nil ? Self.unnamed(live) : live
    guard let edition = ordered(eligible, for: readable).first else {
      throw Self.absence(of: query, in: editions)
    }
    guard readable?.contains(edition.schema) ?? true else {
      return Response(.noContent, fields: repository.headers.common)
    }
    return try respond(to: request.head, with: response(of: edition, query, isBare: true))
  }

  /// Returns the versions among which a request chooses that names no chain.
  ///
  /// The chain comes before the version, as within one (``ChainSelection``): a test network's file of a newer version
  /// hides none of the main network.
  private static func unnamed(_ editions: [Edition]) -> [Edition] {
    let chains = Set(editions.flatMap { $0.candidates.flatMap(\.chains) })
    guard editions.count > 1, chains.count > 1 else { return editions }
    let complete = editions.filter { $0.candidates.contains { Set($0.chains) == chains } }
    if !complete.isEmpty { return complete }
    let main = editions.filter { $0.candidates.contains { $0.chains.contains(.main) } }
    return main.isEmpty ? editions : main
  }

  /// Responds to `/<YYYY>/<MM>/<address>` and `/<YYYY>/<MM>/chain/<id>/<address>` with the file of that version, and
  /// never another's.
  ///
  /// - Throws: ``HTTPError`` with status 400, 404 or 410, or ``UnreadContent``.
  func versioned(_ request: Request, _ parameters: RouteParameters) throws -> Response {
    let key = try key(ofFile: parameters["address"])
    let query = try FileQuery(request.head, chain: parameters["chain"])
    guard let schema = SchemaVersion(year: parameters["year"], month: parameters["month"]),
      let edition = index.edition(of: key, schema)
    else { throw Self.absent(isGone: false) }
    return try respond(to: request.head, with: response(of: edition, query, isBare: false))
  }

  /// Responds to `/<YYYY>/<MM>/…/*.xsd` with a schema.
  ///
  /// - Throws: ``HTTPError`` with status 404.
  func schema(_ request: Request, _ parameters: RouteParameters) throws -> Response {
    guard let version = SchemaVersion(year: parameters["year"], month: parameters["month"]),
      let document = index.documents.document(version, parameters["name"])
    else {
      // A folder of the repository may be named like a version.
      return try link(request)
    }
    return try document.response(to: request.head, now: HTTPDate(repository.clock().seconds))
  }

  /// Responds to the path of a file `*.tsml` in the repository's folder, as old links have it, with a redirect to its URL by
  /// address.
  ///
  /// - Throws: ``HTTPError`` with status 404 unless the file's bytes are served by address too.
  func link(_ request: Request) throws -> Response {
    let raw = request.head.path.dropFirst()
    // No name in a folder has a slash, however it is written.
    let names = raw.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { PercentEncoding.decode($0) ?? [] }
    guard names.allSatisfy({ !$0.contains(UInt8(ascii: "/")) }),
      let url = index.links[RepositoryPath(bytes: Array(names.joined(separator: "/".utf8)))]
    else { throw HTTPError(.notFound) }
    var response = Response(.permanentRedirect, fields: repository.headers.common)
    response.fields.append(.location, url)
    return response
  }

  /// Returns the places of a contract's files, the version first that suits the client.
  func places(of origin: OriginContract, base: String, for head: RequestHead) -> ContractLocations {
    let index = index
    let editions = ordered(index.editions[ContractKey(origin.contract)] ?? [], for: readable(head))
    return ContractLocations(of: origin, in: editions, base: base, by: index.rules)
  }

  /// Returns whether a contract was withdrawn in some version.
  func isGone(_ origin: OriginContract) -> Bool {
    (index.editions[ContractKey(origin.contract)] ?? []).contains { $0.isGone(on: origin.chain) }
  }

  /// Returns the content of the file that a URL gives, or nil if it isn't written as ``ContractLocations`` writes it.
  func content(at url: String, base: String) -> FileContent? {
    guard url.hasPrefix("\(base)/"),
      let name = url.prefix(while: { $0 != "?" }).split(separator: "/").last,
      let contract = EthereumAddress(String(name))
    else { return nil }
    let index = index
    let editions = index.editions[ContractKey(contract)] ?? []
    for chain in Set(editions.flatMap { $0.chains.map(\.chain) }) {
      let places = ContractLocations(
        of: OriginContract(contract, on: chain), in: editions, base: base, by: index.rules)
      if let file = places.files.first(where: { $0.url == url }) { return file.candidate.content }
    }
    return nil
  }

  /// Reads a contract's address, which may have the ending of a file.
  private func key(ofFile segment: ArraySlice<UInt8>) throws(HTTPError) -> ContractKey {
    let hasEnding = segment.count == 47 && segment.suffix(5).elementsEqual(".tsml".utf8)
    let segment = hasEnding ? segment.dropLast(5) : segment
    if let key = ContractKey(segment) {
      // Checked only if the line is logged: wallets send mixed case, and the hash is slow.
      if repository.log.writes(.debug), EthereumAddress.checksum(of: segment) == .wrong {
        repository.log.debug(
          "wrong address checksum", ["address": String(decoding: segment, as: UTF8.self)])
      }
      return key
    }
    throw HTTPError(.badRequest, "an address is 0x and 40 hexadecimal digits")
  }

  /// Moves the version that suits the client to the front: the newest that it is known to read, or else the default.
  ///
  /// The others stay in their order, the newest first.
  private func ordered(_ editions: [Edition], for readable: [SchemaVersion]?) -> [Edition] {
    guard editions.count > 1 else { return editions }
    guard
      let first = editions.firstIndex(where: { readable?.contains($0.schema) ?? false })
        ?? editions.firstIndex(where: { $0.schema == repository.configuration.defaultSchema })
    else { return editions }
    var editions = editions
    editions.insert(editions.remove(at: first), at: 0)
    return editions
  }

  /// Returns the response with the requested files.
  ///
  /// - Throws: ``HTTPError`` with status 404 or 410 if there is none.
  private func response(
    of edition: Edition, _ query: FileQuery, isBare: Bool
  ) throws(HTTPError) -> PreparedResponse {
    if query.isEmpty { return isBare ? edition.bareResponse : edition.response }
    if query.signer == nil, let found = edition.chains.first(where: { $0.chain == query.chain }) {
      return isBare ? found.bareResponse : found.response
    }
    let own = edition.candidates.filter(query.selects)
    guard !own.isEmpty,
      let answer = ChainSelection(own, for: edition.contract, by: index.rules).answer(
        on: query.chain)
    else { throw Self.absence(of: query, in: [edition]) }
    let since = edition.since[query] ?? PublicationTimes.Since()
    var responses = ResponsePreparation(
      contract: edition.contract, schema: edition.schema, signer: query.signer,
      headers: repository.headers)
    return responses.response(with: answer, since: isBare ? since.bare : since.versioned)
  }

  /// Returns the error for a request that no file answers: gone only if nobody serves the contract any more.
  private static func absence(of query: FileQuery, in editions: [Edition]) -> HTTPError {
    if editions.contains(where: { $0.isServed(on: query.chain) }) {
      return HTTPError(.notFound, "no such signer has published a file for this contract")
    }
    return absent(isGone: editions.contains { $0.isGone(on: query.chain) })
  }

  /// Returns the error for a contract without a file.
  ///
  /// - Parameter isGone: whether there was one.
  static func absent(isGone: Bool) -> HTTPError {
    isGone
      ? HTTPError(.gone, "the TokenScript of this contract was withdrawn")
      : HTTPError(.notFound, "no TokenScript is published here for this contract")
  }

  private func respond(to head: RequestHead, with response: PreparedResponse) throws -> Response {
    switch response {
    case .file(let file):
      return try file.response(to: head, now: HTTPDate(repository.clock().seconds))
    case .choices(let choices): return choices.response(to: head)
    case .gone: throw Self.absent(isGone: true)
    }
  }
}

/// The schema files, served at the addresses in TokenScripts' namespaces.
struct SchemaDocuments: Sendable {
  /// A SHA-256 over all schemas and their paths, or zero if there is no folder.
  private(set) var digest = SHA256.Digest()
  private var files: [[UInt8]: PreparedFile] = [:]
  /// The contents of the schemas.
  private(set) var contents: [FileContent] = []

  /// An empty set of schemas.
  static let none = SchemaDocuments()

  private init() {}

  /// Reads every `*.xsd` below a folder; blocks on the disk.
  ///
  /// - Parameters:
  ///   - now: the present time; later times of files are cut to it.
  ///   - known: the contents in service, which are reused for equal bytes.
  /// - Throws: ``SystemError`` if the folder can't be read. A file that can't be read is left out.
  init(
    folder path: String, _ headers: ResponseHeaders, now: Timestamp,
    sharing known: [FileContent] = []
  ) throws(SystemError) {
    let folder = try RepositoryFolder(path)
    let known = known.byDigest
    var digests: [UInt8] = []
    for entry in try folder.list(where: { $0.bytes.suffix(4) == Array(".xsd".utf8)[...] }).entries {
      guard let contents = try? folder.read(entry) else { continue }
      let digest = unsafe SHA256.hash(contents.bytes.buffer.bytes)
      digests += SHA256.hash(entry.path.bytes).bytes + digest.bytes
      let content = known[digest] ?? FileContent(contents.bytes, digest: digest)
      self.contents.append(content)
      files[entry.path.bytes] = PreparedFile(
        content, modified: min(max(contents.status.lastModified, Timestamp(seconds: 0)), now),
        headers, isTokenScript: false)
    }
    digest = SHA256.hash(digests)
  }

  /// Returns whether there is a schema in a folder of the official tool's.
  private func isThere(_ folder: String) -> Bool {
    files[Array("\(folder)/tokenscript.xsd".utf8)] != nil
  }

  /// Returns a schema of a version, from the version's folder, from the folder `tokenscript` below it, or from where the
  /// official tool lays it.
  ///
  /// - Returns: nil if there is none.
  func document(_ schema: SchemaVersion, _ name: ArraySlice<UInt8>) -> PreparedFile? {
    let tools = schema.path.replacing("/", with: "-")
    return ["\(schema)/", "\(schema)/tokenscript/", "\(tools)/"].lazy
      .compactMap { files[Array($0.utf8) + name] }.first
      ?? (isThere(tools) ? files[Array("common/".utf8) + name] : nil)
  }
}
