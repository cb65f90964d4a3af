internal import Addresses
internal import Budgets
internal import Cryptography
internal import Glibc
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import SystemCalls
internal import Threading
internal import Time
internal import TokenScriptReading
internal import Wire
internal import XMLSecurity

/// Publishes and withdraws files over HTTP: verifies, has ``PublicationJudge`` decide, writes, and has the index made.
final class Publisher: Sendable {
  private static let perHour = 30

  private let policy: PublicationPolicy
  private let responder: RepositoryResponder
  private let indexer: RepositoryIndexer
  private let survey: ChainSurvey
  private let verification: AtomicReference<FileVerification>
  private let folder: PublishedFolder
  private let log: Log
  private let clock: @Sendable () -> Timestamp
  private let attempts: AttemptTable
  /// The questions to chains that refused publications have led to.
  private let questions: AttemptTable
  private let queue = VerificationQueue(named: "awd-publish")
  private let disk = ThreadPool(named: "awd-published", width: 1)
  /// One publication at a time, from the decision to the index: quotas count all files.
  private let turn = KeyedMutex<Bool>()

  /// Makes a publisher.
  ///
  /// - Parameters:
  ///   - configuration: the policy, the rules and the repository's root.
  ///   - responder: knows the index in service and the server's URL.
  ///   - indexer: makes the index after a change.
  ///   - survey: asks the chains for the owners of contracts.
  ///   - verification: the checks in service.
  init(
    _ configuration: TokenScriptConfiguration, _ responder: RepositoryResponder,
    _ indexer: RepositoryIndexer, _ survey: ChainSurvey,
    _ verification: AtomicReference<FileVerification>
  ) {
    policy = configuration.publicationPolicy
    self.responder = responder
    self.indexer = indexer
    self.survey = survey
    self.verification = verification
    folder = PublishedFolder(root: configuration.repository)
    log = responder.log
    clock = responder.clock
    attempts = AttemptTable(span: .seconds(3600), size: 1 << 12, clock: responder.clock)
    questions = AttemptTable(span: .seconds(3600), size: 1 << 12, clock: responder.clock)
  }

  /// Responds to `PUT`, which publishes the body.
  ///
  /// - Returns: 200 or 201 with the file's row, or the refusal.
  func put(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let place = try place(of: request, parameters)
    let verification = verification.value
    let now = clock()
    do {
      let submission = try await queue.run(for: request) { body in
        let file: TokenScriptFile
        do throws(FileRefusal) { file = try verification.read(body, now: now) } catch {
          throw PublicationRefusal(.badRequest, error.words)
        }
        return PublicationJudge.Submission(
          file: file, digest: SHA256.hash(body), size: body.count)
      }
      return try await turn.withLock(true, for: request.origin.client.hashValue) {
        try await self.publish(submission, at: place, request, now)
      }
    } catch let refusal as PublicationRefusal { return try refusal.response(responder.headers) }
  }

  private func place(
    of request: Request, _ parameters: RouteParameters
  ) throws(HTTPError) -> PublicationPlace {
    guard policy != .off else { throw HTTPError(.notFound) }
    return try PublicationPlace(request, parameters)
  }

  private func publish(
    _ submission: PublicationJudge.Submission, at place: PublicationPlace, _ request: Request,
    _ now: Timestamp
  ) async throws -> Response {
    let index = responder.index.value
    var rules = index.rules
    rules.signature = .require
    let judge = PublicationJudge(policy: policy, rules: rules, index: index, now: now)
    let origins = PublicationJudge.origins(of: submission.file)
    let verdict: PublicationJudge.Verdict
    do {
      verdict = try await disk.run { [folder] in
        let marks = folder.marks(judge.marks(of: submission.file))
        return try judge.judge(submission, at: place, marks: marks)
      }
    } catch var refusal as PublicationRefusal where refusal.status == .forbidden {
      // The signer may be an owner whom the chain has not told yet.
      if origins.contains(where: survey.isUnasked), secondsToWait(request, questions) == nil {
        survey.ask(soon: origins)
        refusal.reason += "; the chain is being asked for its owner"
        refusal.retryAfter = 5
      }
      throw refusal
    }
    switch verdict {
    case .present(let path): return try response(.ok, path, place)
    case .write(let path, let isFirst):
      if let wait = secondsToWait(request, attempts) {
        throw HTTPError(.tooManyRequests, "too many publications", retryAfter: wait)
      }
      try await change([path]) { [folder] () throws(SystemError) in
        try folder.write(path, request.body)
      }
      survey.ask(soon: origins)
      log.info(
        "published",
        ["path": path.text, "key": submission.file.signer?.key ?? "", "peer": request.origin.peer])
      return try response(isFirst ? .created : .ok, path, place)
    }
  }

  /// Counts an attempt, and returns nil, or the seconds to wait if the client's network has had too many.
  private func secondsToWait(_ request: Request, _ table: AttemptTable) -> Int? {
    request.origin.client.flatMap { table.count($0, upTo: Self.perHour) }
  }

  /// Changes files in the folder, and waits for the index of them.
  private func change(
    _ paths: [RepositoryPath], _ body: @escaping @Sendable () throws(SystemError) -> Void
  ) async throws {
    do {
      try await disk.run(body)
    } catch let error as SystemError {
      log.error("publication failed", ["cause": "\(error)"])
      let isFull = [ENOSPC, EDQUOT, EFBIG].contains(error.code)
      throw isFull
        ? PublicationRefusal(.insufficientStorage, "there is no room left")
        : PublicationRefusal(.serviceUnavailable, "the file can't be stored now")
    }
    try await indexer.index(rereading: Set(paths + paths.map(\.mark)))
  }

  /// Responds with the row of a file.
  private func response(
    _ status: Status, _ path: RepositoryPath, _ place: PublicationPlace
  ) throws -> Response {
    let index = responder.index.value
    guard
      let row = index.rows.first(where: { $0.path == path && $0.contract == place.contract }),
      let digest = row.digest
    else { throw HTTPError(.serviceUnavailable, "the index is not made yet", retryAfter: 1) }
    var response = try Response(status, json: IndexListing.Item(row))
    let candidates = index.edition(of: ContractKey(place.contract), place.schema)?.candidates ?? []
    if let candidate = candidates.first(where: { $0.file.path == path }) {
      response.fields.append(.entityTag, EntityTag(digest.hex).text)
      response.fields.append(.lastModified, HTTPDate(candidate.modified.seconds).text)
    }
    response.fields.append(contentsOf: responder.headers.errors)
    return response
  }

  // MARK: Withdrawal

  /// Responds to `DELETE`, which withdraws a key's files by a statement that the key has signed.
  ///
  /// - Returns: 200 with the file's row, or the refusal.
  func delete(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let place = try place(of: request, parameters)
    let withdrawal = try Withdrawal(request.head.value(.authorization))
    try withdrawal.check(now: clock())
    guard let base = responder.base(for: request) else {
      throw HTTPError(.serviceUnavailable, "the server's public_url is not configured")
    }
    guard request.head.query == nil else {
      throw HTTPError(.badRequest, "the URL must have no query")
    }
    let url = base + String(decoding: request.head.path, as: UTF8.self)
    do {
      let signed = try await queue.run(for: request) { [responder] _ in
        try Self.file(signedFor: withdrawal, among: Self.published(at: place, responder), url)
      }
      return try await turn.withLock(true, for: request.origin.client.hashValue) {
        try await self.withdraw(signed, at: place, request)
      }
    } catch let refusal as PublicationRefusal { return try refusal.response(responder.headers) }
  }

  private func withdraw(
    _ signed: Candidate, at place: PublicationPlace, _ request: Request
  ) async throws -> Response {
    let key = signed.signer?.key ?? ""
    // Older files of the key would come back otherwise.
    let own = try Self.published(at: place, responder).filter { $0.signer?.key == key }
    guard own.contains(where: { $0.content.digest == signed.content.digest }) else {
      throw PublicationRefusal(.conflict, "the file was replaced meanwhile")
    }
    let paths = Set(own.map(\.file.path)).sorted()
    try await change(paths) { [folder] () throws(SystemError) in try folder.withdraw(paths) }
    log.info(
      "withdrawn",
      [
        "path": paths.map(\.text).joined(separator: " "), "key": key, "peer": request.origin.peer,
      ])
    return try response(.ok, paths[0].mark, place)
  }

  /// Returns the published files that a withdrawal at a place may mean.
  ///
  /// - Throws: ``HTTPError`` with status 400, 404 or 410.
  private static func published(
    at place: PublicationPlace, _ responder: RepositoryResponder
  ) throws(HTTPError) -> [Candidate] {
    let edition = responder.index.value.edition(of: ContractKey(place.contract), place.schema)
    let published = (edition?.candidates ?? []).filter {
      FileQuery(chain: place.chain).selects($0) && $0.file.path.publisher != nil
    }
    guard !published.isEmpty else {
      if edition?.candidates.contains(where: FileQuery(chain: place.chain).selects) == true {
        throw HTTPError(.notFound, "the files here are the operator's, who alone withdraws them")
      }
      throw RepositoryResponder.absent(isGone: edition?.isGone(on: place.chain) ?? false)
    }
    guard place.chain != nil || Set(published.flatMap(\.chains)).count == 1 else {
      throw HTTPError(.badRequest, "the files are on several chains; the URL must name one of them")
    }
    return published
  }

  /// Returns the file that a statement is about, which the file's own key has signed.
  ///
  /// - Throws: ``PublicationRefusal`` if there is none.
  private static func file(
    signedFor withdrawal: Withdrawal, among files: [Candidate], _ url: String
  ) throws(PublicationRefusal) -> Candidate {
    let signed = files.first { file in
      guard let document = try? XMLDocument(parsing: file.content.load().array),
        let key = try? SignatureVerifier().verify(document).last?.key
      else { return false }
      return key.verifies(
        withdrawal.signature,
        of: Withdrawal.message(
          url: url, digest: file.content.digest, time: withdrawal.time))
    }
    guard let signed else {
      throw PublicationRefusal(
        .forbidden, "no key with a file here has signed the statement",
        known: Set(files.compactMap { $0.signer?.key }).sorted())
    }
    return signed
  }
}
