internal import Ethereum
internal import Formats
internal import HTTPClient
internal import Observability
internal import Platform

/// Schedules requests to chains in the background: every hour for the contracts of the index, and at once for a contract
/// that somebody publishes for.
///
/// While an endpoint fails, the last answers stay, with their age.
actor ChainScheduler {
  private static let interval = Duration.seconds(3600)
  private static let width = 8
  /// The number of requests at once that publications of one site have led to.
  private static let widthOfSite = 2
  /// The longest response of an endpoint, in bytes.
  private static let responseLimit = 256 << 10
  /// The time for all requests about one contract. Answers that have not come by then stay as they were.
  private static let responseTime = Duration.seconds(10)
  /// The most contracts that are requested in an hour.
  static let contractLimit = 10_000
  /// The most contracts that wait to be requested at once; further ones wait for the hourly run.
  static let queueLimit = 256
  /// The number of failures in a row after which an endpoint gets no further requests in this run.
  private static let failureLimit = 8

  private let endpoints: [ChainID: ChainEndpoint]
  private let store: ContractStore
  private let log: Log
  private let clock: @Sendable () -> Timestamp
  private let client: WebClient?
  /// The turns of the sites whose publications have led to requests.
  private let turns = CallTurns(
    width: width, widthOfSite: widthOfSite, queueLimit: queueLimit)
  /// The keys to look up, by the contracts that wait for their turn.
  private let pending = Lock<[OriginContract: [EthereumAddress]]>([:])
  /// The last change of an answer in the store that is in service.
  private var change: Int64
  /// The arguments of ``run(_:changed:)``, once it runs.
  private var requests: (@Sendable () -> [ChainRequest])?
  private var changed: (@Sendable () async throws -> Void)?
  /// True if an answer has changed since ``changed`` was last called, and while it runs.
  private var hasChanged = false
  private var isReporting = false
  /// The answers in service.
  nonisolated let answers: AtomicReference<ChainAnswers>

  /// Makes a scheduler with the answers that are stored.
  ///
  /// - Parameter endpoints: the endpoints; without any, nothing is requested.
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
    options.timeout = Self.responseTime
    client = endpoints.isEmpty ? nil : try WebClient(options)
    let stored = try await store.chainAnswers(on: endpoints.keys)
    change = stored.last
    answers = AtomicReference(ChainAnswers(stored.answers))
  }

  /// Requests the answers about the index's contracts until the task is cancelled: at once and then every hour, with
  /// some jitter.
  ///
  /// - Parameters:
  ///   - requests: returns the contracts of the index in service, the most important ones first, with its files' keys.
  ///   - changed: is called after an answer has changed, also after one that was requested at once.
  func run(
    _ requests: @escaping @Sendable () -> [ChainRequest],
    changed: @escaping @Sendable () async throws -> Void
  ) async {
    guard !endpoints.isEmpty else { return }
    self.requests = requests
    self.changed = changed
    while !Task.isCancelled {
      await attempt { if try await self.requestAll(requests()) { try await changed() } }
      try? await Task.sleep(for: Self.interval * Double.random(in: 0.9...1.1))
    }
  }

  /// Runs an attempt, and logs its failure: a full disk must not end the schedule.
  private func attempt(_ body: () async throws -> Void) async {
    do { try await body() } catch is CancellationError {} catch {
      log.warning("answers of chains could not be stored", ["reason": "\(error)"])
    }
  }

  // MARK: - At once

  /// Returns whether a contract's chain has an endpoint, and there is no answer yet about the contract or one of the keys.
  nonisolated func isUnasked(_ request: ChainRequest) -> Bool {
    guard endpoints[request.origin.chain] != nil else { return false }
    guard let answer = answers.value.byOrigin[request.origin] else { return true }
    return request.keys.contains { answer.roles[$0] == nil }
  }

  /// Returns whether a request about a contract waits or runs.
  nonisolated func isPending(_ request: ChainRequest) -> Bool {
    pending.withLock { $0[request.origin] != nil }
  }

  /// Requests answers about contracts that have none yet, at once and in turns with other sites, unless too many wait.
  ///
  /// - Parameter site: the site whose publication needs the answers; nil for the machine itself.
  nonisolated func request(atOnce requests: [ChainRequest], for site: ClientSite?) {
    for request in requests where isUnasked(request) {
      let isNew = pending.withLock { pending in
        let isNew = pending[request.origin] == nil
        guard !isNew || pending.count < Self.queueLimit else { return false }
        pending[request.origin, default: []] += request.keys
        return isNew
      }
      guard isNew else { continue }
      Task {
        _ = await turns.run(for: site) { await self.makePendingRequest(about: request.origin) }
        pending.withLock { $0[request.origin] = nil }
      }
    }
  }

  private func makePendingRequest(about origin: OriginContract) async {
    let asked = pending.withLock { $0[origin] ?? [] }
    let known = requests?().first { $0.origin == origin }?.keys ?? []
    let request = ChainRequest(origin: origin, keys: known + asked)
    guard isUnasked(request) else { return }
    await attempt { if try await self.perform([request]) { try await self.reportChange() } }
  }

  /// Has the index rebuilt, once for all answers that arrive meanwhile.
  private func reportChange() async throws {
    hasChanged = true
    guard !isReporting, let changed else { return }
    isReporting = true
    defer { isReporting = false }
    while hasChanged {
      hasChanged = false
      try await changed()
    }
  }

  // MARK: - Every hour

  /// Requests the answers about all contracts of the index, and deletes those about others. If there are too many, the
  /// ones with the oldest answers come first; the answers about the rest stay.
  ///
  /// - Returns: whether an answer has changed.
  func requestAll(_ requests: [ChainRequest]) async throws -> Bool {
    let known = answers.value.byOrigin
    let wanted = Set(requests.map(\.origin))
    let never = Timestamp(seconds: 0)
    var asked = requests.filter { endpoints[$0.origin.chain] != nil }
    if asked.count > Self.contractLimit {
      asked.sort { known[$0.origin]?.time ?? never < known[$1.origin]?.time ?? never }
    }
    return try await perform(
      Array(asked.prefix(Self.contractLimit)),
      forgetting: known.keys.filter { !wanted.contains($0) })
  }

  /// Loads the answers that other nodes have stored since the last time.
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
  private func replace(
    _ new: [OriginContract: ChainAnswer], forgetting forgotten: [OriginContract] = []
  ) -> Bool {
    guard !new.isEmpty || !forgotten.isEmpty else { return false }
    let before = answers.value.byOrigin
    var after = before.merging(new) { $1 }
    for origin in forgotten { after[origin] = nil }
    answers.replace(with: ChainAnswers(after))
    return new.contains { !$0.value.agrees(with: before[$0.key]) }
  }

  /// Requests the answers about some contracts, and stores them.
  ///
  /// - Returns: whether an answer has changed.
  private func perform(
    _ requests: [ChainRequest], forgetting forgotten: [OriginContract] = []
  ) async throws -> Bool {
    let answers = await answers(to: requests)
    try Task.checkCancellation()
    try await store.remember(answers, forgetting: forgotten)
    return replace(answers, forgetting: forgotten)
  }

  /// A contract's answer, or the reason why there is none.
  private typealias Answer = Result<ChainAnswer, ChainClient.Failure>

  /// The failures at one chain's endpoint.
  private struct Failures {
    var inRow = 0
    var contracts = 0
    var reason = ""
  }

  /// Requests the answers about several contracts concurrently. An endpoint that keeps failing gets no further requests.
  private nonisolated func answers(to requests: [ChainRequest]) async -> [OriginContract:
    ChainAnswer]
  {
    var failures: [ChainID: Failures] = [:]
    var answers: [OriginContract: ChainAnswer] = [:]
    await withTaskGroup(of: (OriginContract, Answer).self) { group in
      var rest = requests[...]
      func next() {
        while let request = rest.popFirst() {
          let origin = request.origin
          guard failures[origin.chain]?.inRow ?? 0 < Self.failureLimit else { continue }
          group.addTask { (origin, await self.answer(to: request)) }
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
          var known = failures[origin.chain] ?? Failures()
          known.inRow = failure.isEndpoints ? known.inRow + 1 : 0
          known.contracts += 1
          known.reason = failure.reason
          failures[origin.chain] = known
        }
        next()
      }
    }
    guard !Task.isCancelled else { return answers }
    for (chain, failure) in failures where failure.contracts > 0 {
      // The endpoint's URL may hold a secret.
      log.warning(
        "a chain's endpoint failed; former answers stay",
        ["chain": chain.description, "contracts": failure.contracts, "reason": failure.reason])
    }
    return answers
  }

  private nonisolated func answer(to request: ChainRequest) async -> Answer {
    guard let client, let endpoint = endpoints[request.origin.chain] else {
      return .failure(ChainClient.Failure(reason: "no endpoint", isEndpoints: true))
    }
    let chain = ChainClient(
      client: client, endpoint: endpoint, request: request,
      last: answers.value.byOrigin[request.origin])
    let time = clock()
    return await within(Self.responseTime) {
      do throws(ChainClient.Failure) { return .success(try await chain.answer(at: time)) } catch {
        return .failure(error)
      }
    }
  }
}

/// The last answers of all chains; an immutable snapshot.
final class ChainAnswers: Sendable {
  /// The answers by contract.
  let byOrigin: [OriginContract: ChainAnswer]

  /// Makes a snapshot.
  init(_ byOrigin: [OriginContract: ChainAnswer] = [:]) { self.byOrigin = byOrigin }
}
