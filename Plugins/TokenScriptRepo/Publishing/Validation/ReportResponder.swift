internal import Formats
internal import Cryptography
internal import FoundationEssentials
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import ServiceKit
internal import Platform
internal import WalletClient

/// Receives wallets' reports of files that they have rejected.
///
/// A report is a stranger's word, and changes nothing that is served. A file of this server is verified anew, at most once
/// an hour; one that isn't this server's is a warning, as somebody between has changed it.
struct ReportResponder: Sendable {
  /// The largest body in bytes.
  static let bodyLimit = 4096

  private let repository: Repository
  private let counters: (known: Counter, unknown: Counter)
  private let threads = ThreadPool(named: "awd-report", width: 1, queue: 16, niceness: 15)

  /// Makes a responder whose reports are counted in metrics.
  init(_ repository: Repository) {
    self.repository = repository
    func counter(_ known: String) -> Counter {
      repository.context.metrics.counter(
        "awd_tokenscript_reports_total", "Reports of files that wallets have not taken",
        ["known": known])
    }
    counters = (counter("true"), counter("false"))
  }

  private struct Report: Decodable {
    enum Reason: String, Decodable { case signature, schema, contract, namespace, other }

    let url: String
    let sha256: String
    let reason: Reason
    let detail: String?
  }

  /// Responds to `POST /tokenscript/report`.
  ///
  /// - Returns: 202 with whether the server has the file.
  /// - Throws: ``HTTPError`` with status 400, 404 or 429; the store's error.
  func post(_ request: Request) async throws -> Response {
    let base = try repository.knownBase(for: request)
    guard let report = try? JSONDecoder().decode(Report.self, from: Data(request.body)),
      let digest = SHA256.Digest(hex: report.sha256), report.detail?.count ?? 0 <= 200
    else { throw HTTPError(.badRequest, "expected an object with url, sha256, reason and detail") }
    guard let place = TokenScriptLocation(report.url, at: base) else {
      throw HTTPError(.badRequest, "url: expected the URL of a file of this server")
    }
    guard !repository.context.disk.refusesStrangers else {
      throw HTTPError(.insufficientStorage, "the disk is nearly full; no reports are accepted now")
    }
    let index = repository.index.value
    let now = repository.clock()
    let query = FileQuery(signer: place.signer, chain: place.chain)
    let schema = place.namespace.flatMap { SchemaVersion($0.path) }
    guard
      index.editions[ContractKey(place.contract)]?.contains(where: { edition in
        schema ?? edition.schema == edition.schema
          && edition.candidates.contains(where: query.selects)
      }) == true
    else { throw RepositoryResponder.absent(isGone: false) }
    if let wait = try await repository.store.count(
      .report, from: request.origin.client?.subscriber, at: now)
    {
      throw HTTPError(.tooManyRequests, "too many reports", retryAfter: wait)
    }
    let file = index.files.first { $0.content?.digest == digest }
    // A stranger's words, which the log escapes.
    let words: Log.Fields = [
      "url": report.url, "sha256": report.sha256, "reason": report.reason.rawValue,
      "detail": report.detail ?? "", "peer": request.origin.peer,
    ]
    if let file, let content = file.content {
      counters.known.add()
      repository.log.info("a wallet refused a file", words)
      if try await repository.store.count(.verification, from: digest.hex, at: now) == nil {
        await verify(content, file.path, by: index.rules, now)
      }
    } else {
      counters.unknown.add()
      repository.log.warning("a wallet got a file that is not this server’s", words)
    }
    return try repository.headers.json(.accepted, ["known": file != nil])
  }

  /// Verifies a file anew, and logs the outcome.
  private func verify(
    _ content: FileContent, _ path: RepositoryPath, by rules: RepositoryRules, _ now: Timestamp
  ) async {
    let fault: String?
    do {
      fault = try await threads.run { [repository] in
        let submission = try repository.verification.value.submission(
          content.load().array, now: now)
        return rules.evaluate(submission.file).refusal?.words
      }
    } catch { fault = "\(error)" }
    if let fault {
      repository.log.warning("the reported file fails", ["path": path.text, "reason": fault])
    } else {
      repository.log.info("the reported file holds", ["path": path.text])
    }
  }
}
