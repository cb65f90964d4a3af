internal import Cryptography
internal import Ethereum
internal import HTTPClient
internal import HTTPProtocol
internal import Observability
internal import Threading
internal import Time
internal import TokenScriptReading

/// Asks the chains about contracts, in the background: about those of the index every hour, and about those that somebody
/// publishes for at once.
///
/// A failing endpoint leaves the last words, with their age.
actor ChainSurvey {
  private static let interval = Duration.seconds(3600)
  private static let width = 8
  /// The longest response of an endpoint, in bytes.
  private static let responseLimit = 256 << 10
  /// The time for a response.
  private static let responseTime = Duration.seconds(10)
  /// The number of contracts that are asked about in an hour.
  static let contractLimit = 10_000
  /// The number of contracts that wait to be asked about at once; further ones wait for the hour.
  static let queueLimit = 256
  /// The number of failures in a row after which an endpoint is left alone for the hour.
  private static let failureLimit = 8

  private let endpoints: [ChainID: ChainEndpoint]
  private let store: ContractStore
  private let log: Log
  private let clock: @Sendable () -> Timestamp
  private let client: HTTPClient?
  private let queue: AsyncStream<Origin>
  private let continuation: AsyncStream<Origin>.Continuation
  /// The words in service.
  nonisolated let words: AtomicReference<ChainWords>

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
    (queue, continuation) = AsyncStream.makeStream(
      bufferingPolicy: .bufferingOldest(Self.queueLimit))
    var options = HTTPClientOptions()
    options.bodyLimit = Self.responseLimit
    options.timeout = Self.responseTime
    client = endpoints.isEmpty ? nil : try HTTPClient(options)
    words = AtomicReference(ChainWords(try await store.chainWords(on: endpoints.keys)))
  }

  /// Asks until the task is cancelled: at once and then every hour, with some jitter, and whenever there is something new.
  ///
  /// - Parameters:
  ///   - origins: returns the contracts of the index in service, the most important ones first.
  ///   - changed: is called after a word has changed.
  nonisolated func run(
    _ origins: @escaping @Sendable () -> [Origin],
    changed: @escaping @Sendable () async throws -> Void
  ) async {
    guard !endpoints.isEmpty else { return }
    async let hourly: Void = {
      while !Task.isCancelled {
        await self.attempt { if try await self.askAll(origins()) { try await changed() } }
        try? await Task.sleep(for: Self.interval * Double.random(in: 0.9...1.1))
      }
    }()
    for await origin in queue where isUnasked(origin) {
      await attempt { if try await self.ask([origin]) { try await changed() } }
    }
    await hourly
  }

  /// Does something that a full disk must not keep from being done again later.
  private nonisolated func attempt(_ body: () async throws -> Void) async {
    do { try await body() } catch is CancellationError {} catch {
      log.warning("the chains’ words are not stored", ["reason": "\(error)"])
    }
  }

  /// Whether a contract's chain has an endpoint that wasn't asked about it yet.
  nonisolated func isUnasked(_ origin: Origin) -> Bool {
    endpoints[origin.chain] != nil && words.value.byOrigin[origin] == nil
  }

  /// Has the unasked ones of some contracts asked about soon, unless too many wait.
  nonisolated func ask(soon origins: [Origin]) {
    for origin in origins where isUnasked(origin) { continuation.yield(origin) }
  }

  /// Asks about all contracts of the index, and forgets the words about others. Of too many those come first that it has not
  /// asked about for the longest time; the words about the rest stay.
  ///
  /// - Returns: whether a word has changed.
  func askAll(_ origins: [Origin]) async throws -> Bool {
    let known = words.value.byOrigin
    let wanted = Set(origins)
    let never = Timestamp(seconds: 0)
    var asked = origins.filter { endpoints[$0.chain] != nil }
    if asked.count > Self.contractLimit {
      asked.sort { known[$0]?.time ?? never < known[$1]?.time ?? never }
    }
    return try await ask(
      Array(asked.prefix(Self.contractLimit)),
      forgetting: known.keys.filter { !wanted.contains($0) })
  }

  /// Asks about some contracts.
  ///
  /// - Returns: whether a word has changed.
  private func ask(_ asked: [Origin], forgetting forgotten: [Origin] = []) async throws -> Bool {
    let answers = await answers(about: asked)
    try Task.checkCancellation()
    try await store.remember(answers, forgetting: forgotten)
    // Others may have been asked about meanwhile.
    let before = words.value.byOrigin
    var after = before.merging(answers) { $1 }
    for origin in forgotten { after[origin] = nil }
    words.replace(with: ChainWords(after))
    return answers.contains { !$0.value.agrees(with: before[$0.key]) }
  }

  /// A contract's word, or the reason why there is none.
  private typealias Answer = Result<ChainWord, Failure>

  private struct Failure: Error {
    let reason: String
    /// Whether the endpoint didn't respond, which no contract can bring about.
    let isEndpoints: Bool
  }

  /// Asks about several contracts at once. An endpoint that keeps failing is left alone.
  private nonisolated func answers(about origins: [Origin]) async -> [Origin: ChainWord] {
    var failures: [ChainID: (inRow: Int, contracts: Int, reason: String)] = [:]
    var answers: [Origin: ChainWord] = [:]
    await withTaskGroup(of: (Origin, Answer).self) { group in
      var rest = origins[...]
      func next() {
        while let origin = rest.popFirst() {
          guard failures[origin.chain]?.inRow ?? 0 < Self.failureLimit else { continue }
          group.addTask { (origin, await self.answer(about: origin)) }
          return
        }
      }
      for _ in 0..<Self.width { next() }
      while let (origin, answer) = await group.next() {
        switch answer {
        case .success(let word):
          answers[origin] = word
          failures[origin.chain]?.inRow = 0
        case .failure(let failure):
          let (inRow, contracts, _) = failures[origin.chain] ?? (0, 0, "")
          failures[origin.chain] = (
            failure.isEndpoints ? inRow + 1 : 0, contracts + 1, failure.reason
          )
        }
        next()
      }
    }
    guard !Task.isCancelled else { return answers }
    for (chain, failure) in failures where failure.contracts > 0 {
      // The endpoint's URL may hold a secret.
      log.warning(
        "chain not asked",
        [
          "chain": chain.description, "contracts": failure.contracts, "reason": failure.reason,
        ])
    }
    return answers
  }

  private nonisolated func answer(about origin: Origin) async -> Answer {
    guard let client, let endpoint = endpoints[origin.chain] else {
      return .failure(Failure(reason: "no endpoint", isEndpoints: true))
    }
    let batch = CallBatch(
      ChainWord.calls(for: origin.contract, registry: endpoint.registry))
    do throws(HTTPClientError) {
      let response = try await client.send(OutgoingRequest(endpoint.url, json: batch.body))
      let outcomes = batch.outcomes(in: response.body)
      let last = words.value.byOrigin[origin]
      if let word = ChainWord(outcomes, after: last, time: clock()) { return .success(word) }
      let reason = outcomes.lazy.compactMap(\.failure).first
      return .failure(Failure(reason: reason ?? "", isEndpoints: response.status != .ok))
    } catch {
      // A contract may return more than is read.
      return .failure(Failure(reason: "\(error.code)", isEndpoints: error.code != .tooLarge))
    }
  }
}

extension CallBatch.Outcome {
  /// The reason why nothing is known, or nil.
  fileprivate var failure: String? {
    guard case .failed(let reason) = self else { return nil }
    return reason
  }
}
