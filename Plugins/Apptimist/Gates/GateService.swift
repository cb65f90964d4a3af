internal import ApptimistProtocol
internal import Ethereum
internal import Cryptography
internal import Observability
internal import Platform

/// Makes who holds a forum's token its reader, and takes out who holds it no more.
struct GateService: Sendable {
  /// The number of readers that a chain's endpoint is asked about at once.
  private static let batchSize = 100

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

  /// Asks about all readers of the forums whose turn it is, and takes out who holds too little.
  func recheckGates() async throws {
    // Whose contract keeps an endpoint busy doesn't keep it from others.
    var failed: Set<EncryptionPublicKey> = []
    while let key = try await store.nextGate(at: clock(), every: interval) {
      try Task.checkCancellation()
      guard let file = try await store.file(.gate, in: key), let gate = TokenGate(parsing: file),
        checker.endpoints[gate.chain] != nil,
        case .forum(let forum)? = try await store.recipient(key), !failed.contains(forum.author)
      else { continue }
      var lacking: Set<EncryptionPublicKey> = []
      var rest = Array(forum.subscribers)[...]
      while !rest.isEmpty, !failed.contains(forum.author) {
        if let found = try await self.lacking(among: rest.prefix(Self.batchSize), gate) {
          lacking.formUnion(found)
        } else {
          failed.insert(forum.author)
        }
        rest = rest.dropFirst(Self.batchSize)
      }
      _ = try await files.changeReaders(of: key) { [lacking] holder in
        try await store.changeReaders(of: key, by: file, removing: lacking, holder: holder)
      }
    }
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
        "a gate's chain was not asked", ["chain": gate.chain.description, "reason": reason])
      return nil
    }
    return Set(readers).subtracting(zip(holders, isEnough).filter { $1 != false }.map(\.0.key))
  }
}
