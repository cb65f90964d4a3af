internal import Cryptography
internal import Ethereum
internal import Formats
internal import HTTPProtocol
internal import Platform
internal import Routing
internal import WebApps
internal import XMLSecurity

/// Responds to requests for the locations of a contract's scripts and for their descriptions, from programs and people.
struct LocationsResponder: Sendable {
  /// The requests for files, which find places.
  let responder: RepositoryResponder
  /// The threads that read files and make pages.
  let threads: ThreadPool

  private var repository: Repository { responder.repository }

  /// Adds the routes.
  func register(on router: inout Router) {
    let contract = "/tokenscript/{address:prefix(0x)}/chain/{chain}"
    router.get("\(contract)/script-uri") { request, parameters in
      try tagged(places(request, parameters).scriptURI, for: request)
    }
    router.get("\(contract)/script-info") { request, parameters in
      try tagged(places(request, parameters).scripts, for: request)
    }
    // No script is made from a template here.
    router.get("\(contract)/from-template/{number}") { _, _ in
      try json(.notFound, ["error": "there are no templates here", "url": nil] as JSONObject)
    }
    router.get("/contracts/{chain}/{address}", page)
    router.get("/token-view/{chain}/{address}") { request, parameters in
      try await inJSON { try await view(request, parameters) }
    }
    router.get("/token-view/{chain}/{address}/script-uri") { request, parameters in
      try await inJSON {
        let places = try self.places(request, parameters)
        let file = try file(of: request, among: places)
        // Clients take a URL without the ending for that of a page.
        let parts = file.url.split(separator: "?")
        let query = parts.count > 1 ? "?\(parts[1])&as=.tsml" : ""
        return try json(.ok, ["scriptURI": "\(parts[0]).tsml\(query)"])
      }
    }
  }

  /// Returns the places of the contract that a request names.
  ///
  /// - Parameter base: the server's URL if any will do, or nil to throw an error if it isn't known.
  /// - Throws: ``HTTPError`` with status 400 or 404.
  private func places(
    _ request: Request, _ parameters: RouteParameters, base: String? = nil
  ) throws -> ContractLocations {
    let origin = try OriginContract(parameters)
    return responder.places(
      of: origin, base: try base ?? repository.knownBase(for: request), for: request.head)
  }

  /// Returns the first file among a contract's places; a registry's entries are not read here.
  ///
  /// - Throws: ``HTTPError`` with status 404 or 410.
  private func file(
    of request: Request, among places: ContractLocations
  ) throws(HTTPError) -> ContractLocations.File {
    let asksForEntry = URLEncodedForm(request.head.query ?? [])?["entry"]?.isEmpty == false
    guard !asksForEntry, let file = places.files.first else {
      throw RepositoryResponder.absent(isGone: !asksForEntry && responder.isGone(places.origin))
    }
    return file
  }

  private func view(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let places = try places(request, parameters, base: "")
    let candidate = try file(of: request, among: places).candidate
    let explorer = places.origin.explorer(in: repository.configuration.explorers)
    let view = try await threads.run(
      for: request.origin.client, orRefuseWith: "too many files are being read"
    ) {
      let document = try TokenScriptReader.parse(candidate.content.load().array)
      return TokenView.json(document.root, isSigned: candidate.signer != nil, explorer: explorer)
    }
    return try json(.ok, view)
  }

  /// Responds with the page about a contract.
  ///
  /// - Throws: ``HTTPError`` with status 400, 404, 410, or 503 if too many requests wait; ``SystemError`` if no thread
  ///   can be started.
  private func page(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let origin = try OriginContract(parameters)
    let index = repository.index.value
    let explorers = repository.configuration.explorers
    // On this machine the host can't be another's word.
    let base =
      repository.base(for: request) ?? (request.isLocal ? repository.origin(of: request) : nil)
    let page = try await threads.run(
      for: request.origin.client, orRefuseWith: "too many pages are being made"
    ) { () -> (html: String, isGone: Bool)? in
      ContractPage(origin, in: index, base: base, explorers: explorers).map { ($0.html, $0.isGone) }
    }
    guard let page else { throw RepositoryResponder.absent(isGone: false) }
    return Response(page.isGone ? .gone : .ok, page: page.html, .contract)
  }

  /// Responds in JSON, also with errors.
  private func inJSON(_ body: () async throws -> Response) async throws -> Response {
    do { return try await body() } catch let error as HTTPError {
      return try json(error.status, ["error": error.message]).with(error.fields)
    }
  }

  private func json(_ status: Status, _ value: some Encodable) throws -> Response {
    try Response(status, json: value).with(repository.headers.common)
  }

  /// Responds with JSON and its strong entity tag, without a date.
  private func tagged(_ value: some Encodable, for request: Request) throws -> Response {
    var response = try json(.ok, value)
    guard case .array(let bytes) = response.body else { return response }
    let tag = EntityTag(SHA256.hash(bytes).hex)
    let validators = Validators(entityTag: tag, lastModified: nil)
    switch Preconditions.evaluate(
      request.head, validators, now: HTTPDate(repository.clock().seconds))
    {
    case .proceed: break
    case .notModified: response = Response(.notModified, fields: repository.headers.common)
    case .failed: return Response(.preconditionFailed, fields: repository.headers.errors)
    }
    response.fields.append(.entityTag, tag.text)
    return response
  }
}

/// The facts about a file that pages and frames show beside a token; there are no facts about the token itself.
enum TokenView {
  /// The largest number of bytes of a text.
  private static let textLimit = 4096
  private static let actionLimit = 64

  /// Reads the facts.
  ///
  /// - Parameters:
  ///   - isSigned: whether its signature holds.
  ///   - explorer: the URL of a page about the contract elsewhere, or nil.
  static func json(_ root: XMLElement, isSigned: Bool, explorer: String?) -> JSONObject {
    func url(_ name: String) -> String? { root.meta(name, limit: textLimit)?.openable }
    let cards = root.children(named: "cards", in: root.namespace).flatMap { list in
      list.children(named: "card", in: root.namespace)
    }
    let metadata: JSONObject = [
      "name": root.attribute("name")?.shown(limit: textLimit),
      "label": root.labels(limit: textLimit).first,
      "meta": [
        "description": root.meta("description", limit: textLimit), "aboutUrl": url("aboutUrl"),
        "iconUrl": root.icon(allowingClearText: true), "imageUrl": url("imageUrl"),
        "backgroundImageUrl": url("backgroundImageUrl"),
      ] as JSONObject,
      "signed": isSigned, "actions": cards.prefix(actionLimit).map(action), "cssStr": "",
    ]
    return [
      "tokenMetadata": nil, "tsMetadata": metadata, "signed": isSigned, "explorerUrl": explorer,
    ]
  }

  private static func action(_ card: XMLElement) -> JSONObject {
    func attribute(_ name: String) -> String? { card.attribute(name)?.shown(limit: textLimit) }
    // The engine reads it from the first view; on the card it means nothing.
    let view = card.child(named: "view", in: card.namespace)
    let isFullScreen = view?.attribute("fullScreen") == "true"
    return [
      "name": attribute("name"), "label": card.labels(limit: textLimit).first ?? "Unnamed Card",
      "type": attribute("type"), "fullScreen": isFullScreen,
      "buttonClass": attribute("buttonClass"),
    ]
  }
}

/// The places of a contract's TokenScripts on a chain.
struct ContractLocations {
  /// A file of this repository.
  struct File {
    /// The URL, which gives nothing but this file until the signer publishes another.
    let url: String
    /// The version.
    let schema: SchemaVersion
    /// The file.
    let candidate: Candidate
    /// True if the file is the contract's own.
    let isIssuers: Bool
  }

  /// The files, by version in the editions' order, of each the issuer's first, and then the newest.
  let files: [File]
  /// The contract and the chain.
  let origin: OriginContract
  private let answer: ChainAnswer?

  /// Finds the places for a contract on a chain.
  ///
  /// - Parameters:
  ///   - origin: the contract and the chain, which the URLs name if the contract has several.
  ///   - base: the server's URL without a slash at its end.
  init(of origin: OriginContract, in editions: [Edition], base: String, by rules: RepositoryRules) {
    self.origin = origin
    answer = rules.answers[origin]
    let isAmbiguous = Set(editions.flatMap { $0.chains.map(\.chain) }).count > 1
    let segment = isAmbiguous ? "chain/\(origin.chain)/" : ""
    files = editions.flatMap { edition in
      let chosen = edition.chains.first { $0.chain == origin.chain }?.chosen ?? []
      let files = chosen.map { candidate in
        let key = chosen.count > 1 ? candidate.signer?.key : nil
        return File(
          url: "\(base)/\(edition.schema)/\(segment)\(origin.contract.checksummed)"
            + (key.map { "?signer=\($0)" } ?? ""),
          schema: edition.schema, candidate: candidate,
          isIssuers: rules.standing(of: candidate.meaning, for: origin.contract) == .issuer)
      }
      return files.filter(\.isIssuers) + files.filter { !$0.isIssuers }
    }
  }

  // MARK: script-uri

  /// The contract's own URIs by its chain's last answer, and the URLs at this repository, by the names of ERC-5169.
  var scriptURI: [String: [String: [String]]] {
    ["scriptURI": ["erc5169": answer?.scripts ?? [], "offchain": files.map(\.url)]]
  }

  // MARK: script-info

  private static let scriptLimit = 64
  private static let ownLimit = 8

  /// The scripts, as the engine and the viewer read them, which open the first without a choice: the contract's own URIs,
  /// its issuer's files and entries of the registry, and then strangers'.
  var scripts: [JSONObject] {
    let issuers = files.filter(\.isIssuers)
    let others = files.filter { !$0.isIssuers }
    let best = (issuers + others).first.flatMap { $0.candidate.name(for: origin.contract) }
    let own = (answer?.scripts ?? []).filter { $0.openable != nil }.prefix(Self.ownLimit)
    let entries = answer?.entries ?? []
    var scripts = own.enumerated().map { index, place in
      script(
        answer?.name ?? best, at: place, index == 0 ? "" : "5169_\(index)", isAuthenticated: true)
    }
    scripts += issuers.map(script)
    scripts += entries.filter { answer?.isOwners($0) == true }.map(script)
    scripts += others.map(script)
    scripts += entries.filter { answer?.isOwners($0) != true }.map(script)
    return scripts.prefix(Self.scriptLimit).enumerated().map { index, script in
      var script = script
      script.values["order"] = index
      return script
    }
  }

  private func script(_ file: File) -> JSONObject {
    let meaning = file.candidate.meaning
    let version = file.schema.path.replacing("/", with: "")
    return script(
      file.candidate.name(for: origin.contract), icon: meaning.icon, at: file.url,
      "awd_\(version)_\(meaning.signer?.key ?? "unsigned")", isAuthenticated: file.isIssuers)
  }

  private func script(_ entry: ChainAnswer.Entry) -> JSONObject {
    script(
      entry.name, icon: entry.icon, at: entry.place, "7738_\(entry.token)",
      isAuthenticated: answer?.isOwners(entry) == true, type: "registry")
  }

  private func script(
    _ name: String?, icon: String? = nil, at place: String, _ identifier: String,
    isAuthenticated: Bool, type: String = "scriptUri"
  ) -> JSONObject {
    let name = name?.shown(limit: 128) ?? ""
    return [
      "name": name.isEmpty ? "TokenScript" : name, "icon": icon ?? "",
      "authenticated": isAuthenticated,
      "sourceId": "\(origin.chain)-\(origin.contract.checksummed)", "sourceUrl": place,
      "scriptId": identifier, "type": type,
    ]
  }
}

extension Candidate {
  /// The name of the file: its label, or else its root's name, or else its name for a contract.
  fileprivate func name(for contract: EthereumAddress) -> String? {
    meaning.labels.first ?? meaning.title
      ?? meaning.contracts.first { $0.isOrigin && $0.address == contract }?.name
  }
}
