internal import Cryptography
internal import Ethereum
internal import HTTPClient
internal import HTTPProtocol
internal import Observability
internal import Time
internal import TokenScriptReading

/// Asks the chains about the contracts of the index, in the background.
///
/// A failing endpoint leaves the last words, with their age.
final class ChainSurvey: Sendable {
  private static let interval = Duration.seconds(3600)
  private static let width = 8
  /// The longest response of an endpoint, in bytes.
  private static let responseLimit = 256 << 10

  private let endpoints: [ChainID: ChainEndpoint]
  private let store: ContractStore
  private let log: Log
  private let clock: @Sendable () -> Timestamp
  private let client: HTTPClient?
  /// The words in service.
  let words: AtomicReference<ChainWords>

  /// Makes a survey with the words that are stored.
  ///
  /// - Parameters:
  ///   - endpoints: the endpoints; with none nothing is asked.
  ///   - store: keeps the words.
  ///   - log: is told about endpoints that fail.
  ///   - clock: tells the time.
  /// - Throws: the store's error, or ``HTTPClientError`` if there is no room for connections.
  init(
    _ endpoints: [ChainID: ChainEndpoint], store: ContractStore, log: Log,
    clock: @escaping @Sendable () -> Timestamp
  ) async throws {
    self.endpoints = endpoints
    self.store = store
    self.log = log
    self.clock = clock
    var options = HTTPClientOptions()
    options.bodyLimit = Self.responseLimit
    client = endpoints.isEmpty ? nil : try HTTPClient(options)
    let stored = endpoints.isEmpty ? [:] : try await store.chainWords()
    words = AtomicReference(ChainWords(stored.filter { endpoints[$0.key.chain] != nil }))
  }

  /// Asks at once and then every hour, with some jitter, until the task is cancelled.
  ///
  /// - Parameters:
  ///   - origins: returns the contracts of the index in service.
  ///   - changed: is called after a survey that has changed a word.
  /// - Throws: the error of `changed`, or the store's.
  func run(
    _ origins: @Sendable () -> [Origin], changed: @Sendable () async throws -> Void
  ) async throws {
    guard !endpoints.isEmpty else { return }
    while !Task.isCancelled {
      if try await ask(origins()) { try await changed() }
      try await Task.sleep(for: Self.interval * Double.random(in: 0.9...1.1))
    }
  }

  /// Asks about some contracts.
  ///
  /// - Returns: whether a word has changed.
  func ask(_ origins: [Origin]) async throws -> Bool {
    let before = words.value.byOrigin
    let asked = origins.filter { endpoints[$0.chain] != nil }
    let answers = await withTaskGroup(of: (Origin, ChainWord?).self) { group in
      var rest = asked[...]
      var answers: [Origin: ChainWord] = [:]
      func next() {
        guard let origin = rest.popFirst() else { return }
        group.addTask { (origin, await self.word(about: origin)) }
      }
      for _ in 0..<Self.width { next() }
      while let (origin, word) = await group.next() {
        answers[origin] = word
        next()
      }
      return answers
    }
    try Task.checkCancellation()
    let wanted = Set(asked)
    let after = before.filter { wanted.contains($0.key) }.merging(answers) { $1 }
    try await store.remember(answers, forgetting: before.keys.filter { !wanted.contains($0) })
    words.replace(with: ChainWords(after))
    return after.count != before.count
      || answers.contains { !$0.value.agrees(with: before[$0.key]) }
  }

  /// Asks about one contract.
  ///
  /// - Returns: nil if the endpoint fails.
  private func word(about origin: Origin) async -> ChainWord? {
    guard let client, let endpoint = endpoints[origin.chain] else { return nil }
    let batch = CallBatch(
      ChainWord.calls(for: origin.contract, registry: endpoint.registry))
    var request = OutgoingRequest(.post, endpoint.url, body: batch.body)
    request.fields.append(.contentType, "application/json")
    let problem: String
    do throws(HTTPClientError) {
      let response = try await client.send(request)
      let outcomes = batch.outcomes(in: response.body)
      if let word = ChainWord(outcomes, time: clock()) { return word }
      problem = outcomes.lazy.compactMap(\.failure).first ?? "status \(response.status.code)"
    } catch { problem = error.code == .cancelled ? "" : "\(error.code)" }
    if !problem.isEmpty {
      // The URL may hold a secret.
      log.warning(
        "chain not asked",
        [
          "chain": origin.chain.description, "contract": origin.contract.checksummed,
          "reason": problem,
        ])
    }
    return nil
  }
}

extension CallBatch.Outcome {
  /// The reason why nothing is known, or nil.
  fileprivate var failure: String? {
    guard case .failed(let reason) = self else { return nil }
    return reason
  }
}
