internal import ApptimistProtocol
internal import Ethereum
internal import Cryptography
internal import Observability
internal import Platform

/// Makes who holds a forum's token its reader, and takes out who holds it no more.
struct GateService: Sendable {
  /// The number of readers that a chain's endpoint is asked about at once.
  private static let batchSize = 100
  /// The time after which a check is tried again that couldn't be made.
  private static let pause = Duration.seconds(600)
  /// The time that a forum's check may take: those of its site wait for the next round after a longer one.
  private static let slowness = Duration.seconds(5)

  let store: ApptimistStore
  let files: FileService
  let clients: ClientAccounting
  let checker: AccountChecker
  let log: Log
  let clock: @Sendable () -> Timestamp
  /// The time after which all readers are asked about again.
  let interval: Duration

  /// Makes a user the reader of a forum, if the user holds what its gate asks for.
  ///
  /// - Returns: the first error that applies.
  func join(_ forum: EncryptionPublicKey, _ requester: Requester) async throws -> ErrorCode {
    let login = try requester.loggedIn()
    guard try await store.access(of: login.user, to: forum)?.isForum == true else {
      return .notFound
    }
    guard let file = try await store.file(.gate, in: forum), let gate = TokenGate(parsing: file),
      let address = try await store.addresses(of: [login.user], on: gate.chain)[login.user]
    else { return .notPermitted }
    guard clients.may(.askChain, requester.network) else { return .overQuota }
    let call = CallBatch(gate.call(about: address), to: gate.contract)
    let outcome = await checker.outcomes(of: call, on: gate.chain).first
    guard let isEnough = outcome.flatMap({ gate.admits(address, by: $0) }) else {
      return .internalError
    }
    guard isEnough else { return .notPermitted }
    return try await files.changeReaders(of: forum, for: requester.session) { holder in
      try await store.changeReaders(of: forum, by: file, adding: login, holder: holder)
    }
  }

  /// Checks the readers of the forums that are due, and takes out who holds too little.
  func recheckGates() async throws {
    // Whose contract keeps an endpoint busy doesn't keep it from others.
    var failed: Set<EncryptionPublicKey> = []
    var slow: Set<Int64> = []
    while let due = try await store.nextGate(at: clock(), every: interval) {
      try Task.checkCancellation()
      guard !slow.contains(due.site), !failed.contains(due.author) else {
        try await store.postponeGate(of: due.forum, until: clock() + Self.pause)
        continue
      }
      let start = ContinuousClock.now
      let outcome = try await recheck(due)
      if outcome == .failed { failed.insert(due.author) }
      if outcome != .done {
        try await store.postponeGate(of: due.forum, until: clock() + Self.pause)
      }
      if ContinuousClock.now - start >= Self.slowness { slow.insert(due.site) }
    }
  }

  /// The outcome of a check.
  private enum Recheck {
    case done
    /// The chain's endpoint fails.
    case failed
    /// The forum's author has had too many questions asked, or somebody has the readers locked.
    case postponed
  }

  private func recheck(_ due: DueGate) async throws -> Recheck {
    guard let file = try await store.file(.gate, in: due.forum),
      let gate = TokenGate(parsing: file),
      checker.endpoints[gate.chain] != nil,
      case .forum(let forum)? = try await store.recipient(due.forum)
    else { return .done }
    var lacking: Set<EncryptionPublicKey> = []
    var rest = Array(forum.subscribers)[...]
    while !rest.isEmpty {
      guard clients.mayRecheck(due) else { return .postponed }
      guard let found = try await self.lacking(among: rest.prefix(Self.batchSize), gate) else {
        return .failed
      }
      lacking.formUnion(found)
      rest = rest.dropFirst(Self.batchSize)
    }
    guard !lacking.isEmpty else { return .done }
    let outcome = try await files.changeFreeReaders(of: due.forum) { [lacking] holder in
      try await store.changeReaders(of: due.forum, by: file, removing: lacking, holder: holder)
    }
    return outcome == .locked ? .postponed : .done
  }

  /// Finds the readers who hold too little, or have proved nothing; nil if the endpoint fails.
  private func lacking(
    among readers: ArraySlice<EncryptionPublicKey>, _ gate: TokenGate
  ) async throws -> Set<EncryptionPublicKey>? {
    let holders = Array(try await store.addresses(of: readers, on: gate.chain))
    let calls = CallBatch(holders.map { (gate.contract, gate.call(about: $0.value)) })
    let outcomes = holders.isEmpty ? [] : await checker.outcomes(of: calls, on: gate.chain)
    let isEnough = zip(holders, outcomes).map { gate.admits($0.value, by: $1) }
    if case .failed(let reason)? = outcomes.first, isEnough.allSatisfy({ $0 == nil }) {
      log.warning(
        "token gates could not be re-checked; retrying",
        ["chain": gate.chain.description, "reason": reason])
      return nil
    }
    return Set(readers).subtracting(zip(holders, isEnough).filter { $1 != false }.map(\.0.key))
  }
}
