internal import Formats
internal import Budgets
internal import Cluster
internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import ServiceKit
internal import Storage
internal import Platform
internal import XMLSecurity

/// Publishes and withdraws files over HTTP: verifies them, stores them if ``PublicationRules`` allow it, and has the index
/// rebuilt.
final class PublicationResponder: Sendable {
  /// The most contracts in an hour that refused publications of one site make requests to chains about.
  private var requestsPerHour: Int { 30 * repository.configuration.usersPerAddress }
  /// The most requests in an hour about one of these, whose answers fail.
  private static let repetitionsPerHour = 60

  private let repository: Repository
  private let indexer: RepositoryIndexer
  private let scheduler: ChainScheduler
  /// The contracts that refused publications have led to requests about, by site.
  private let requests: AttemptTable
  /// The requests about each of them.
  private let repetitions: AttemptTable
  private let queue = VerificationQueue(named: "awd-publish")

  /// Makes a publisher.
  init(_ repository: Repository, _ indexer: RepositoryIndexer, _ scheduler: ChainScheduler) {
    self.repository = repository
    self.indexer = indexer
    self.scheduler = scheduler
    requests = AttemptTable(span: .seconds(3600), size: 1 << 12, clock: repository.clock)
    repetitions = AttemptTable(span: .seconds(3600), size: 1 << 12, clock: repository.clock)
  }

  /// Responds to `PUT`, which publishes the body.
  ///
  /// - Returns: 200 or 201 with the file's row, or the refusal.
  func put(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let target = try PublicationTarget(request, parameters)
    let verification = repository.verification.value
    let now = repository.clock()
    do {
      let submission = try await queue.run(for: request) { body in
        do throws(FileRefusal) { return try verification.submission(body, now: now) } catch {
          throw PublicationRefusal(.invalid, error.words)
        }
      }
      return try await publish(submission, at: target, request, now)
    } catch let refusal as PublicationRefusal { return try refusal.response(repository.headers) }
  }

  private func publish(
    _ submission: PublicationRules.Submission, at target: PublicationTarget, _ request: Request,
    _ now: Timestamp
  ) async throws -> Response {
    let index = repository.index.value
    var catalogue = index.rules
    catalogue.signature = .require
    // An answer that has just come is in no index yet.
    catalogue.answers = scheduler.answers.value.byOrigin
    let rules = PublicationRules(
      policy: repository.configuration.publicationPolicy, catalogue: catalogue, index: index,
      now: now, refusesStrangers: repository.context.disk.refusesStrangers,
      usersPerAddress: repository.configuration.usersPerAddress)
    let decision: PublicationRules.Decision
    do {
      decision = try await change {
        try await repository.store.publish(
          submission, at: target, from: request.origin.client?.subscriber, by: rules)
      }
    } catch var refusal as PublicationRefusal where refusal.cause == .notAuthorized {
      // The signer may stand for the contract, which the chain has not said yet.
      if requestChain(about: submission.file, first: target, by: catalogue, for: request) {
        refusal.reason += "; the chain is being queried for its owner"
        refusal.retryAfter = 5
      }
      throw refusal
    }
    switch decision {
    case .present(let path, let publication):
      return try response(.ok, path, target, publication, submission)
    case .write(let publication, _, let isFirst):
      scheduler.request(
        atOnce: Self.requests(about: submission.file), for: request.origin.client?.siteKey)
      repository.log.info(
        "published",
        [
          "path": publication.path.text, "key": publication.slot.signer,
          "peer": request.origin.peer,
        ])
      return try response(
        isFirst ? .created : .ok, publication.path, target, publication, submission)
    }
  }

  /// The requests to chains about all contracts that a file names as its origins.
  private static func requests(about file: TokenScriptFile) -> [ChainRequest] {
    let keys = file.signer?.addresses ?? []
    return file.namedOrigins.map { ChainRequest(origin: $0.origin, keys: keys) }
  }

  /// Requests from the chain whether the signer of a refused file is an issuer of its contracts: first of the contract in
  /// the URL alone, as anybody can name many slow ones, and of the others once the signer is the issuer of one.
  ///
  /// - Returns: whether a request waits or runs.
  private func requestChain(
    about file: TokenScriptFile, first target: PublicationTarget, by catalogue: RepositoryRules,
    for request: Request
  ) -> Bool {
    let all = Self.requests(about: file).filter { !$0.origin.isNativeCurrency }
    var unasked = all.filter(scheduler.isUnasked)
    guard !unasked.isEmpty else { return false }
    let isKnown = all.contains { catalogue.answers[$0.origin]?.proof(of: file) == .signer }
    if !isKnown {
      let first = unasked.first { $0.origin.contract == target.contract } ?? unasked[0]
      unasked = [first]
    }
    let site = request.origin.client?.siteKey
    var isAsked = false
    for wanted in unasked {
      // A client that retries after the time in Retry-After isn't charged again.
      if scheduler.isPending(wanted) {
        isAsked = true
        continue
      }
      guard mayRequest(wanted, for: site) else { break }
      scheduler.request(atOnce: [wanted], for: site)
      isAsked = true
    }
    return isAsked
  }

  /// A contract that a site's publications have led to requests about.
  private struct SiteRequest: Hashable {
    let site: ClientSite
    let origin: OriginContract
  }

  /// Counts a request to a chain, if the site may make it.
  private func mayRequest(_ wanted: ChainRequest, for site: ClientSite?) -> Bool {
    guard let site else { return true }
    let key = SiteRequest(site: site, origin: wanted.origin)
    let isNew = repetitions.wait(for: key, upTo: 1) == nil
    if isNew, requests.count(site, upTo: requestsPerHour) != nil { return false }
    return repetitions.count(key, upTo: Self.repetitionsPerHour) == nil
  }

  /// Changes the publications, notifies the other nodes, and waits for the new index.
  ///
  /// - Throws: ``PublicationRefusal``, also if the store can't be written to; the indexer's error.
  private func change<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    let value: Value
    do { value = try await body() } catch let error as StoreError where error.isUnavailable {
      repository.log.error("publication failed", ["cause": "\(error)"])
      throw error.code == .full
        ? PublicationRefusal(.noRoom, "there is no room left")
        : PublicationRefusal(.unavailable, "the file can't be stored now")
    }
    repository.context.bus.publish([NodeNotification(NotificationTopic(TokenScriptService.name))])
    try await indexer.indexPublications()
    return value
  }

  /// Responds with the row of a file as it was published, even if its signer has replaced it meanwhile.
  private func response(
    _ status: Status, _ path: RepositoryPath, _ target: PublicationTarget,
    _ publication: PublishedFile?, _ submission: PublicationRules.Submission
  ) throws -> Response {
    let index = repository.index.value
    let present = index.rows.first {
      $0.path == path && $0.contract == target.contract && $0.digest == submission.digest
    }
    if present == nil, let publication {
      return try response(status, toReplaced: publication, submission, target, index)
    }
    return try response(status, path, target)
  }

  /// Responds with the row that a file would have that is already replaced.
  private func response(
    _ status: Status, toReplaced publication: PublishedFile,
    _ submission: PublicationRules.Submission, _ target: PublicationTarget, _ index: ContractIndex
  ) throws -> Response {
    let file = RepositoryFile(
      publication, content: FileContent(Bytes(submission.bytes), digest: submission.digest),
      reading: .success(submission.file))
    var builder = IndexBuilder(
      rules: index.rules, headers: repository.headers, now: repository.clock().wholeSecond,
      sightings: [:])
    let own = builder.build([file], generation: index.generation)
    guard var row = own.rows.first(where: { $0.contract == target.contract }) else {
      throw HTTPError(.serviceUnavailable, "the index is not made yet", retryAfter: 1)
    }
    if row.state == .served { row.state = .shadowed(by: publication.path) }
    var response = try repository.headers.json(status, row)
    response.fields.append(.entityTag, EntityTag(submission.digest.hex).text)
    response.fields.append(.lastModified, HTTPDate(publication.time.seconds).text)
    return response
  }

  /// Responds with the row of a file in the index.
  private func response(
    _ status: Status, _ path: RepositoryPath, _ target: PublicationTarget
  ) throws -> Response {
    let index = repository.index.value
    guard
      let row = index.rows.first(where: { $0.path == path && $0.contract == target.contract }),
      let digest = row.digest
    else { throw HTTPError(.serviceUnavailable, "the index is not made yet", retryAfter: 1) }
    var response = try repository.headers.json(status, row)
    let candidates =
      index.edition(of: ContractKey(target.contract), target.schema)?.candidates ?? []
    if let candidate = candidates.first(where: { $0.file.path == path }) {
      response.fields.append(.entityTag, EntityTag(digest.hex).text)
      response.fields.append(.lastModified, HTTPDate(candidate.modified.seconds).text)
    }
    return response
  }

  // MARK: Withdrawal

  /// Responds to `DELETE`, which withdraws a key's files by a statement that the key has signed.
  ///
  /// - Returns: 200 with the file's row, or the refusal.
  func delete(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let target = try PublicationTarget(request, parameters)
    let withdrawal = try Withdrawal(request.head.value(.authorization))
    try withdrawal.check(now: repository.clock())
    guard let base = repository.base(for: request) else {
      throw HTTPError(.serviceUnavailable, "the server's public_url is not configured")
    }
    guard request.head.query == nil else {
      throw HTTPError(.badRequest, "the URL must have no query")
    }
    let url = base + String(decoding: request.head.path, as: UTF8.self)
    do {
      let (files, chain) = try await queue.run(for: request) { [repository] _ in
        try Self.published(at: target, repository)
      }
      let signed = try await file(signedFor: withdrawal, among: files, url, request)
      let own = try await change {
        try await repository.store.withdraw(signed, for: OriginContract(target.contract, on: chain))
      }
      repository.log.info(
        "withdrawn",
        [
          "path": own.map(\.path.text).joined(separator: " "), "key": signed.slot.signer,
          "peer": request.origin.peer,
        ])
      return try response(.ok, signed.path.mark, target)
    } catch let refusal as PublicationRefusal { return try refusal.response(repository.headers) }
  }

  /// Returns the published files that a withdrawal at a place may mean, and their chain.
  ///
  /// - Throws: ``HTTPError`` with status 400, 404 or 410.
  private static func published(
    at target: PublicationTarget, _ repository: Repository
  ) throws(HTTPError) -> (files: [Candidate], chain: ChainID) {
    let edition = repository.index.value.edition(of: ContractKey(target.contract), target.schema)
    let here = (edition?.candidates ?? []).filter(FileQuery(chain: target.chain).selects)
    let published = here.filter { $0.file.publication != nil }
    guard !published.isEmpty else {
      guard here.isEmpty else {
        throw HTTPError(.notFound, "the files here are the operator's, who alone withdraws them")
      }
      throw RepositoryResponder.absent(isGone: edition?.isGone(on: target.chain) ?? false)
    }
    let chains = Set(published.flatMap(\.chains))
    guard let chain = target.chain ?? (chains.count == 1 ? chains.first : nil) else {
      throw HTTPError(.badRequest, "the files are on several chains; the URL must name one of them")
    }
    return (published, chain)
  }

  /// Returns the publication that a statement is about, which the file's own key or its authority has signed.
  ///
  /// Each file waits for its turn among files of its size, the shortest first: others may have published long ones here.
  ///
  /// - Throws: ``PublicationRefusal`` if there is none; ``HTTPError`` with status 503 if too many files wait.
  private func file(
    signedFor withdrawal: Withdrawal, among files: [Candidate], _ url: String, _ request: Request
  ) async throws -> PublishedFile {
    for file in files.sorted(by: { $0.content.size < $1.content.size }) {
      let isSigned = try await queue.run(for: request, size: file.content.size) { _ in
        guard let document = try? XMLDocument(parsing: file.content.load().array),
          let signature = try? SignatureVerifier().verify(document).last
        else { return false }
        let authority = file.signer?.authority == nil ? nil : signature.authority(at: nil)
        let message = Withdrawal.message(
          url: url, digest: file.content.digest, time: withdrawal.time)
        return [signature.key, authority].contains {
          $0?.verifies(withdrawal.signature, of: message) == true
        }
      }
      if isSigned, let publication = file.file.publication { return publication }
    }
    throw PublicationRefusal(
      .notAuthorized, "no key with a file here has signed the statement",
      known: Set(files.compactMap { $0.signer?.publisher }).sorted())
  }
}
