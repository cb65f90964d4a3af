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
  private let verification: AtomicReference<FileVerification>
  private let folder: PublishedFolder
  private let log: Log
  private let clock: @Sendable () -> Timestamp
  private let attempts: AttemptTable
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
  ///   - verification: the checks in service.
  init(
    _ configuration: TokenScriptConfiguration, _ responder: RepositoryResponder,
    _ indexer: RepositoryIndexer, _ verification: AtomicReference<FileVerification>
  ) {
    policy = configuration.publicationPolicy
    self.responder = responder
    self.indexer = indexer
    self.verification = verification
    folder = PublishedFolder(root: configuration.repository)
    log = responder.log
    clock = responder.clock
    attempts = AttemptTable(span: .seconds(3600), size: 1 << 12, clock: responder.clock)
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
      return try await turn.withLock(true) {
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
    let marked = judge.marks(of: submission.file)
    let marks = marked.isEmpty ? [] : try await disk.run { [folder] in folder.marks(marked) }
    switch try judge.judge(submission, at: place, marks: marks) {
    case .present(let path): return try response(.ok, path, place)
    case .write(let path, let isFirst):
      if let network = request.origin.client, let wait = attempts.count(network, upTo: Self.perHour) {
        throw HTTPError(.tooManyRequests, "too many publications", retryAfter: wait)
      }
      try await change { [folder] () throws(SystemError) in
        try folder.write(path, request.body)
      }
      log.info(
        "published",
        ["path": path.text, "key": submission.file.signer?.key ?? "", "peer": request.origin.peer])
      return try response(isFirst ? .created : .ok, path, place)
    }
  }

  /// Changes the folder, and waits for the index of it.
  private func change(
    _ body: @escaping @Sendable () throws(SystemError) -> Void
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
    try await indexer.index()
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
      throw HTTPError(.notFound, "the server's public URL is not configured")
    }
    guard request.head.query == nil else {
      throw HTTPError(.badRequest, "the URL must have no query")
    }
    let url = base + String(decoding: request.head.path, as: UTF8.self)
    do {
      return try await turn.withLock(true) {
        try await self.withdraw(withdrawal, at: place, url, request)
      }
    } catch let refusal as PublicationRefusal { return try refusal.response(responder.headers) }
  }

  private func withdraw(
    _ withdrawal: Withdrawal, at place: PublicationPlace, _ url: String, _ request: Request
  ) async throws -> Response {
    let edition = responder.index.value.edition(of: ContractKey(place.contract), place.schema)
    let published = (edition?.candidates ?? []).filter {
      FileQuery(chain: place.chain).selects($0) && $0.file.path.publisher != nil
    }
    guard !published.isEmpty else {
      throw RepositoryResponder.absent(isGone: edition?.isGone(on: place.chain) ?? false)
    }
    guard place.chain != nil || Set(published.flatMap(\.chains)).count == 1 else {
      throw HTTPError(.badRequest, "the files are on several chains; the URL must name one of them")
    }
    let key = try await queue.run(for: request) { _ in
      Self.signer(of: withdrawal, among: published, url)
    }
    guard let key else {
      throw PublicationRefusal(
        .forbidden, "no key with a file here has signed the statement",
        known: Set(published.compactMap { $0.signer?.key }).sorted())
    }
    // Older files of the key would come back otherwise.
    let paths = Set(published.filter { $0.signer?.key == key }.map(\.file.path)).sorted()
    try await change { [folder] () throws(SystemError) in try folder.withdraw(paths) }
    log.info(
      "withdrawn",
      [
        "path": paths.map(\.text).joined(separator: " "), "key": key, "peer": request.origin.peer,
      ])
    return try response(.ok, paths[0].mark, place)
  }

  /// Returns the key that has signed the statement over one of its own files.
  private static func signer(
    of withdrawal: Withdrawal, among files: [Candidate], _ url: String
  ) -> String? {
    files.first { file in
      guard let document = try? XMLDocument(parsing: file.content.bytes.array),
        let key = try? SignatureVerifier().verify(document).last?.key
      else { return false }
      return key.verifies(
        withdrawal.signature,
        of: Withdrawal.message(
          url: url, digest: file.content.digest, time: withdrawal.time))
    }?.signer?.key
  }
}
