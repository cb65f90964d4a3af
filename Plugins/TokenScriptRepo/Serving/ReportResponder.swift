internal import Addresses
internal import Cryptography
internal import FoundationEssentials
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import Threading
internal import Time
internal import TokenScriptReading
internal import WalletClient
internal import Wire

/// Takes wallets' reports of files that they have not taken.
///
/// A report is a stranger's word, and changes nothing that is served. A file of this server is verified anew, at each node
/// at most once an hour; one that isn't this server's is a warning, as somebody between has changed it.
final class ReportResponder: Sendable {
  /// The largest body in bytes.
  static let bodyLimit = 4096
  private static let interval = Duration.seconds(3600)

  private let responder: RepositoryResponder
  private let verification: AtomicReference<FileVerification>
  private let store: ContractStore
  private let counters: (known: Counter, unknown: Counter)
  private let threads = ThreadPool(named: "awd-report", width: 1, queue: 16, niceness: 15)
  /// The times of the verifications within the last interval.
  private let verified = Lock<[SHA256.Digest: Timestamp]>([:])

  /// Makes a responder.
  ///
  /// - Parameters:
  ///   - responder: knows the server's URL and the index.
  ///   - verification: the checks in service.
  ///   - store: counts reports, on all nodes together.
  ///   - metrics: counts them for the operator.
  init(
    _ responder: RepositoryResponder, _ verification: AtomicReference<FileVerification>,
    _ store: ContractStore, _ metrics: Metrics
  ) {
    self.responder = responder
    self.verification = verification
    self.store = store
    func counter(_ known: Bool) -> Counter {
      metrics.counter(
        "awd_tokenscript_reports_total", "Reports of files that wallets have not taken",
        ["known": "\(known)"])
    }
    counters = (counter(true), counter(false))
  }

  private struct Report: Decodable {
    enum Reason: String, Decodable {
      case signature, schema, contract, namespace, other
    }

    let url: String
    let sha256: String
    let reason: Reason
    let detail: String?
  }

  private struct Receipt: Encodable {
    let known: Bool
  }

  /// Responds to `POST /tokenscript/report`.
  ///
  /// - Returns: 202 with whether the server has the file, or 429.
  /// - Throws: ``HTTPError`` with status 400 or 404; the store's error.
  func post(_ request: Request) async throws -> Response {
    guard let base = responder.base(for: request) else {
      throw HTTPError(.notFound, "the server's public URL is not configured")
    }
    guard let report = try? JSONDecoder().decode(Report.self, from: Data(request.body)),
      let digest = SHA256.Digest(hex: report.sha256), report.detail?.count ?? 0 <= 200
    else { throw HTTPError(.badRequest, "expected an object with url, sha256, reason and detail") }
    guard let place = TokenScriptPlace(report.url, at: base) else {
      throw HTTPError(.badRequest, "url: expected the URL of a file of this server")
    }
    let (index, now) = (responder.index.value, responder.clock())
    let query = FileQuery(signer: place.signer, chain: place.chain)
    let schema = place.namespace.flatMap { SchemaVersion($0.path) }
    guard
      index.editions[ContractKey(place.contract)]?.contains(where: { edition in
        schema ?? edition.schema == edition.schema
          && edition.candidates.contains(where: query.selects)
      }) == true
    else { throw RepositoryResponder.absent(isGone: false) }
    if let wait = try await store.count(.report, from: request.origin.client?.site, at: now) {
      return try PublicationRefusal(tooMany: "reports", retryAfter: wait)
        .response(responder.headers)
    }
    let file = index.files.first { $0.content?.digest == digest }
    (file == nil ? counters.unknown : counters.known).add()
    if file == nil {
      responder.log.warning(
        "a wallet got a file that is not this server’s", fields(report, request))
    } else {
      responder.log.info("a wallet has not taken a file", fields(report, request))
    }
    if let file, let content = file.content, isDue(digest, now) {
      await verify(content, file.path, by: index.rules, for: request, now)
    }
    var response = try Response(.accepted, json: Receipt(known: file != nil))
    response.fields.append(contentsOf: responder.headers.errors)
    return response
  }

  /// The stranger's words, which the log escapes.
  private func fields(_ report: Report, _ request: Request) -> Log.Fields {
    [
      "url": report.url, "sha256": report.sha256, "reason": report.reason.rawValue,
      "detail": report.detail ?? "", "peer": request.origin.peer,
    ]
  }

  /// Returns whether a file has not been verified anew within the last interval, and notes that it is now.
  private func isDue(_ digest: SHA256.Digest, _ now: Timestamp) -> Bool {
    verified.withLock { times in
      times = times.filter { now < $0.value + Self.interval }
      return times.updateValue(times[digest] ?? now, forKey: digest) == nil
    }
  }

  /// Verifies a file anew, and logs the outcome.
  private func verify(
    _ content: Content, _ path: RepositoryPath, by rules: RepositoryRules, for request: Request,
    _ now: Timestamp
  ) async {
    let fault: String?
    do {
      fault = try await threads.run(for: request.origin.client.hashValue) { [verification] in
        let submission = try verification.value.submission(content.load().array, now: now)
        return rules.judge(submission.file).refusal?.words
      }
    } catch { fault = (error as? FileRefusal)?.words ?? "not verified: \(error)" }
    if let fault {
      responder.log.warning("the reported file fails", ["path": path.text, "reason": fault])
    } else {
      responder.log.info("the reported file holds", ["path": path.text])
    }
  }
}
