internal import Ethereum
internal import HTTPClient
internal import Observability
internal import Platform

/// Asks the chains about contracts, in the background: about those of the index every hour, and about those that somebody
/// publishes for at once.
///
/// A failing endpoint leaves the last answers, with their age.
actor ChainScheduler {
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
  private let client: WebClient?
  private let queue: AsyncStream<ChainRequest>
  private let continuation: AsyncStream<ChainRequest>.Continuation
  /// The last change of an answer in the store that is in service.
  private var change: Int64
  /// The answers in service.
  nonisolated let answers: AtomicReference<ChainAnswers>

  /// Makes a survey with the answers that are stored.
  ///
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
    client = endpoints.isEmpty ? nil : try WebClient(options)
    let stored = try await store.chainAnswers(on: endpoints.keys)
    change = stored.last
    answers = AtomicReference(ChainAnswers(stored.answers))
  }

  /// Asks until the task is cancelled: at once and then every hour, with some jitter, and whenever there is something new.
  ///
  /// - Parameters:
  ///   - questions: returns the contracts of the index in service, the most important ones first, with its files' keys.
  nonisolated func run(
    _ questions: @escaping @Sendable () -> [ChainRequest],
    changed: @escaping @Sendable () async throws -> Void
  ) async {
    guard !endpoints.isEmpty else { return }
    async let hourly: Void = {
      while !Task.isCancelled {
        await self.attempt { if try await self.askAll(questions()) { try await changed() } }
        try? await Task.sleep(for: Self.interval * Double.random(in: 0.9...1.1))
      }
    }()
    for await asked in queue where isUnasked(asked) {
      let known = questions().first { $0.origin == asked.origin }?.keys ?? []
      let question = ChainRequest(origin: asked.origin, keys: known + asked.keys)
      await attempt { if try await self.ask([question]) { try await changed() } }
    }
    await hourly
  }

  /// Does something that a full disk must not keep from being done again later.
  private nonisolated func attempt(_ body: () async throws -> Void) async {
    do { try await body() } catch is CancellationError {} catch {
      log.warning("the chains’ answers are not stored", ["reason": "\(error)"])
    }
  }

  /// Returns whether a contract's chain has an endpoint that wasn't asked about it, or about one of the keys, yet.
  nonisolated func isUnasked(_ question: ChainRequest) -> Bool {
    guard endpoints[question.origin.chain] != nil else { return false }
    guard let answer = answers.value.byOrigin[question.origin] else { return true }
    return question.keys.contains { answer.roles[$0] == nil }
  }

  /// Has the unasked ones of some contracts asked about soon, unless too many wait.
  nonisolated func ask(soon questions: [ChainRequest]) {
    for question in questions where isUnasked(question) { continuation.yield(question) }
  }

  /// Asks about all contracts of the index, and forgets the answers about others. Of too many those come first that it has not
  /// asked about for the longest time; the answers about the rest stay.
  ///
  /// - Returns: whether an answer has changed.
  func askAll(_ questions: [ChainRequest]) async throws -> Bool {
    let known = answers.value.byOrigin
    let wanted = Set(questions.map(\.origin))
    let never = Timestamp(seconds: 0)
    var asked = questions.filter { endpoints[$0.origin.chain] != nil }
    if asked.count > Self.contractLimit {
      asked.sort { known[$0.origin]?.time ?? never < known[$1.origin]?.time ?? never }
    }
    return try await ask(
      Array(asked.prefix(Self.contractLimit)),
      forgetting: known.keys.filter { !wanted.contains($0) })
  }

  /// Takes over the answers that other nodes have stored since the last look.
  ///
  /// - Returns: whether an answer has changed.
  func adopt() async throws -> Bool {
    let stored = try await store.chainAnswers(on: endpoints.keys, after: change)
    change = stored.last
    return replace(stored.answers)
  }

  /// Puts answers into service.
  ///
  /// - Returns: whether one has changed.
  private func replace(_ new: [Origin: ChainAnswer], forgetting forgotten: [Origin] = []) -> Bool {
    guard !new.isEmpty || !forgotten.isEmpty else { return false }
    let before = answers.value.byOrigin
    var after = before.merging(new) { $1 }
    for origin in forgotten { after[origin] = nil }
    answers.replace(with: ChainAnswers(after))
    return new.contains { !$0.value.agrees(with: before[$0.key]) }
  }

  /// Asks about some contracts.
  ///
  /// - Returns: whether an answer has changed.
  private func ask(
    _ asked: [ChainRequest], forgetting forgotten: [Origin] = []
  ) async throws -> Bool {
    let answers = await ask(about: asked)
    try Task.checkCancellation()
    try await store.remember(answers, forgetting: forgotten)
    return replace(answers, forgetting: forgotten)
  }

  /// A contract's answer, or the reason why there is none.
  private typealias Answer = Result<ChainAnswer, ChainClient.Failure>

  /// Asks about several contracts at once. An endpoint that keeps failing is left alone.
  private nonisolated func ask(about questions: [ChainRequest]) async -> [Origin: ChainAnswer] {
    var failures: [ChainID: (inRow: Int, contracts: Int, reason: String)] = [:]
    var answers: [Origin: ChainAnswer] = [:]
    await withTaskGroup(of: (Origin, Answer).self) { group in
      var rest = questions[...]
      func next() {
        while let question = rest.popFirst() {
          let origin = question.origin
          guard failures[origin.chain]?.inRow ?? 0 < Self.failureLimit else { continue }
          group.addTask { (origin, await self.answer(to: question)) }
          return
        }
      }
      for _ in 0..<Self.width { next() }
      while let (origin, answer) = await group.next() {
        switch answer {
        case .success(let answer):
          answers[origin] = answer
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
        ["chain": chain.description, "contracts": failure.contracts, "reason": failure.reason])
    }
    return answers
  }

  private nonisolated func answer(to question: ChainRequest) async -> Answer {
    guard let client, let endpoint = endpoints[question.origin.chain] else {
      return .failure(ChainClient.Failure(reason: "no endpoint", isEndpoints: true))
    }
    let inquiry = ChainClient(
      client: client, endpoint: endpoint, question: question,
      last: answers.value.byOrigin[question.origin])
    do throws(ChainClient.Failure) { return .success(try await inquiry.answer(at: clock())) } catch
    {
      return .failure(error)
    }
  }
}

/// The last answers of all chains; an immutable snapshot.
final class ChainAnswers: Sendable {
  /// The answers by contract.
  let byOrigin: [Origin: ChainAnswer]

  /// Makes a snapshot.
  init(_ byOrigin: [Origin: ChainAnswer] = [:]) { self.byOrigin = byOrigin }
}
