internal import Formats
internal import ApptimistProtocol
internal import Ethereum
internal import Configuration
internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

/// An endpoint where each address has a balance.
private final class TokenEndpoint: Responder {
  struct State {
    var balances: [String: Int] = [:]
    /// Addresses that it doesn't tell about.
    var silent: Set<String> = []
    var status = Status.ok
    /// The numbers of calls in the requests so far; 0 for one that is no batch.
    var batches: [Int] = []
    /// Runs before each answer.
    var first: @Sendable () async throws -> Void = {}
  }

  private struct Call: Decodable {
    struct Parameter: Decodable { let data: String }
    let id: Int
    let data: String

    private enum Keys: CodingKey { case id, params }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Keys.self)
      id = try members.decode(Int.self, forKey: .id)
      var parameters = try members.nestedUnkeyedContainer(forKey: .params)
      data = try parameters.decode(Parameter.self).data
    }
  }

  let state = Lock(State())

  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    .task(bodyLimit: 1 << 20) { [self] request in
      do { return try await answer(request.body) } catch { return Response(.badRequest) }
    }
  }

  private func answer(_ body: [UInt8]) async throws -> Response {
    let isBatch = body.first == UInt8(ascii: "[")
    let calls =
      isBatch
      ? try JSONDecoder().decode([Call].self, from: Data(body))
      : [try JSONDecoder().decode(Call.self, from: Data(body))]
    let first = state.withLock {
      $0.batches.append(isBatch ? calls.count : 0)
      return $0.first
    }
    try await first()
    let now = state.withLock { $0 }
    let answers = calls.map { call in
      let address = "0x" + call.data.dropFirst(34).prefix(40)
      if now.silent.contains(address) {
        return #"{"jsonrpc":"2.0","id":\#(call.id),"error":{"code":-32005,"message":"slow down"}}"#
      }
      let number = String(now.balances[address] ?? 0, radix: 16)
      let word = String(repeating: "0", count: 64 - number.count) + number
      return #"{"jsonrpc":"2.0","id":\#(call.id),"result":"0x\#(word)"}"#
    }
    let text = answers.joined(separator: ",")
    return Response(now.status, type: "application/json", text: isBatch ? "[\(text)]" : text)
  }
}

/// Forums for who holds a token.
@Suite struct GateTests {
  private static let contract = "0x6b175474e89094c44da98b954eedeac495271d0f"
  private static let gate = "eip155:1/erc20:\(contract) 10"
  private static let forum = 10
  private let fixture = StoreFixture()

  /// The parts that deal with gates, as the service has them.
  private struct Parts {
    let store: ApptimistStore
    let files: FileService
    let gates: GateService
    let clock = TestClock(ApptimistStore.now)

    init(_ store: ApptimistStore, _ keys: String) throws {
      let toml = "[server]\ndata = \"/tmp\"\n[apptimist]\n\(keys)"
      let section = ConfigurationReader(
        try ConfigurationDocument(parsing: Array(toml.utf8), file: "/awd.toml")
      ).section("apptimist")
      let configuration = ApptimistConfiguration(section)
      try section.finish()
      self.store = store
      files = FileService(
        store, AccountDirectory(store), keys: .generate(), node: nil,
        gateChains: Set(configuration.chains.keys), locks: LockTable(lease: .seconds(30), limit: 8))
      let clock = clock
      gates = GateService(
        store: store, files: files,
        clients: ClientAccounting(configuration.clients) { ApptimistStore.now },
        checker: try AccountChecker(configuration.chains), log: Log(level: .error, descriptor: -1),
        clock: { clock.now }, interval: configuration.gateInterval)
    }

    func write(
      _ text: String, to name: String = "gate", of directory: Int = GateTests.forum,
      by user: Int = 1
    ) async throws -> FileReply {
      try await reply(.write(Array(text.utf8)), name, directory, user)
    }

    func reply(
      _ act: FileRequest.Act, _ name: String, _ directory: Int, _ user: Int, session: Int = 0
    ) async throws -> FileReply {
      try await files.reply(
        to: FileRequest(
          act: act, directory: StoreFixture.key(directory),
          filename: try #require(ShortBytes(name))),
        by: StoreFixture.login(user), in: SessionID(number: UInt64(100 + session + user)))
    }

    func join(_ user: Int, _ forum: Int = GateTests.forum) async throws -> ErrorCode {
      try await gates.join(
        StoreFixture.key(forum),
        Requester(
          session: SessionID(number: UInt64(200 + user)), network: ClientNetwork(of: .loopback),
          login: StoreFixture.login(user)))
    }

    func readers(_ forum: Int = GateTests.forum) async throws -> [Int] {
      let content = try await store.file("subscribers", of: forum) ?? []
      return stride(from: 0, to: content.count, by: 32).map { start in
        content[start..<start + 8].reduce(0) { $0 << 8 | Int($1) }
      }
    }

    /// Lets the interval pass, and asks again.
    func recheckGates() async throws {
      clock.advance(by: gates.interval + .seconds(1))
      try await gates.recheckGates()
    }
  }

  private static func address(_ user: Int) -> String {
    let digits = String(user, radix: 16)
    return "0x" + String(repeating: "0", count: 40 - digits.count) + digits
  }

  /// Makes users 1 to 9, of whom 1 to 7 have keys, 8 a contract on chain 1, and 9 nothing; and a forum of the first.
  private func open(
    _ limits: ApptimistStore.Limits = ApptimistStore.Limits()
  ) async throws -> ApptimistStore {
    let store = try await fixture.open(limits)
    for user in 1...7 { try await make(user, .key, store) }
    try await make(8, .contract, store)
    try await make(9, nil, store)
    _ = try await store.makeForum(Self.forum, author: 1)
    return store
  }

  private func make(_ user: Int, _ proof: UIDProof?, _ store: ApptimistStore) async throws {
    _ = try await store.createUser(
      StoreFixture.account(user, name: "user \(user)", uid: "eip155:1:\(Self.address(user))"),
      proof: proof, at: ApptimistStore.now)
  }

  private func withParts(
    _ keys: String = "", _ limits: ApptimistStore.Limits = ApptimistStore.Limits(),
    _ body: (Parts, TokenEndpoint) async throws -> Void
  ) async throws {
    let endpoint = TokenEndpoint()
    let store = try await open(limits)
    try await TestSupport.withServer(endpoint) { url in
      let chains = "[chains]\n1 = \"\(url)\"\n5 = \"\(url)\""
      try await body(try Parts(store, "\(keys)\n\(chains)"), endpoint)
    }
  }

  @Test func gatesAreCheckedWhenTheyAreWritten() async throws {
    try await withParts { parts, _ in
      #expect(try await parts.write(Self.gate) == .done(nil))
      for bad in [
        "x", "\(Self.gate)\n", " \(Self.gate)", "eip155:2/erc20:\(Self.contract) 10",
        "eip155:1/erc20:\(Self.contract)", String(repeating: "9", count: 100_000),
      ] {
        #expect(try await parts.write(bad) == .refused(.badContent))
      }
      #expect(try await parts.store.file("gate", of: Self.forum) == Array(Self.gate.utf8))
      // By who may write; readers read it, others don't.
      #expect(try await parts.write(Self.gate, by: 2) == .refused(.notPermitted))
      _ = try await parts.store.write(keys: [2], to: "editors", of: Self.forum, by: 1)
      _ = try await parts.store.write(keys: [3], to: "subscribers", of: Self.forum, by: 1)
      #expect(try await parts.write("eip155:5/erc721:\(Self.contract)", by: 2) == .done(nil))
      #expect(try await parts.write(Self.gate, by: 3) == .refused(.notPermitted))
      #expect(
        try await parts.reply(.read, "gate", Self.forum, 3)
          == .done(Array("eip155:5/erc721:\(Self.contract)".utf8)))
      #expect(try await parts.reply(.read, "gate", Self.forum, 4) == .refused(.notPermitted))
      // Data that doesn't open, and locks, come first.
      #expect(
        try await parts.reply(.write(nil), "gate", Self.forum, 1) == .refused(.dataDoesNotOpen))
      _ = try await parts.reply(.lock, "gate", Self.forum, 2)
      #expect(try await parts.write("x") == .refused(.locked))
      #expect(try await parts.write("", by: 2) == .done(nil))
      // A user's file of that name is any file.
      #expect(try await parts.write("x", of: 1) == .done(nil))
    }
    let parts = try Parts(try await StoreFixture().open(), "")
    try await parts.store.makeUsers(1...1)
    _ = try await parts.store.makeForum(Self.forum, author: 1)
    #expect(try await parts.write(Self.gate) == .refused(.badContent))
  }

  @Test func whoHoldsEnoughJoinsOnce() async throws {
    try await withParts { parts, endpoint in
      #expect(try await parts.join(2, 77) == .notFound)
      #expect(try await parts.join(2, 3) == .notFound)
      #expect(try await parts.join(2) == .notPermitted)
      _ = try await parts.write("")
      #expect(try await parts.join(2) == .notPermitted)
      // As one may be there from before.
      _ = try await parts.store.write(Array("a file".utf8), to: "gate", of: Self.forum, by: 1)
      #expect(try await parts.join(2) == .notPermitted)
      _ = try await parts.write(Self.gate)
      #expect(try await parts.join(9) == .notPermitted)
      #expect(endpoint.state.withLock { $0.batches }.isEmpty)
      #expect(try await parts.join(2) == .notPermitted)
      endpoint.state.withLock {
        $0.balances = [Self.address(2): 9, Self.address(3): 10, Self.address(4): 11]
      }
      #expect(try await parts.join(2) == .notPermitted)
      for user in [3, 4, 3] { #expect(try await parts.join(user) == .done) }
      #expect(try await parts.readers() == [3, 4])
      endpoint.state.withLock { $0.silent = [Self.address(5)] }
      #expect(try await parts.join(5) == .internalError)
      endpoint.state.withLock { $0.status = .internalServerError }
      #expect(try await parts.join(4) == .internalError)
      #expect(try await parts.readers() == [3, 4])
      #expect(try await parts.store.deleteForum(Self.forum, by: 1) == .done)
      #expect(try await parts.join(3) == .notFound)
      // The session's account may be gone.
      let old = Requester(session: SessionID(number: 1), network: nil, login: nil)
      await #expect(throws: (any Error).self) {
        try await parts.gates.join(StoreFixture.key(Self.forum), old)
      }
    }
  }

  @Test func contractsCountOnTheirChain() async throws {
    try await withParts { parts, endpoint in
      endpoint.state.withLock { $0.balances = [Self.address(8): 10, Self.address(2): 10] }
      _ = try await parts.write(Self.gate.replacing("155:1/", with: "155:5/"))
      #expect(try await parts.join(8) == .notPermitted)
      #expect(try await parts.join(2) == .done)
      _ = try await parts.write(Self.gate)
      #expect(try await parts.join(8) == .done)
      #expect(try await parts.readers() == [2, 8])
    }
  }

  @Test func floodsAreBounded() async throws {
    try await withParts("chain_calls_per_address = 3") { parts, endpoint in
      _ = try await parts.write(Self.gate)
      endpoint.state.withLock { $0.balances[Self.address(2)] = 10 }
      var outcomes: [ErrorCode] = []
      for user in [2, 3, 3, 3, 2] { outcomes.append(try await parts.join(user)) }
      #expect(outcomes == [.done, .notPermitted, .notPermitted, .overQuota, .overQuota])
      #expect(endpoint.state.withLock { $0.batches } == [0, 0, 0])
    }
    var limits = ApptimistStore.Limits()
    limits.reservedKeys = 2
    try await withParts("", limits) { parts, endpoint in
      _ = try await parts.write(Self.gate)
      endpoint.state.withLock { state in
        for user in 2...4 { state.balances[Self.address(user)] = 10 }
      }
      for user in 2...3 { #expect(try await parts.join(user) == .done) }
      #expect(try await parts.join(4) == .overQuota)
      #expect(try await parts.join(3) == .done)
    }
  }

  @Test func whoHoldsLessIsTakenOut() async throws {
    try await withParts { parts, endpoint in
      _ = try await parts.write(Self.gate)
      let all = Array(1...9) + [99]
      _ = try await parts.store.write(keys: all, to: "subscribers", of: Self.forum, by: 1)
      _ = try await parts.store.write(keys: [2], to: "editors", of: Self.forum, by: 1)
      _ = try await parts.store.write(keys: [3], to: "moderators", of: Self.forum, by: 1)
      endpoint.state.withLock {
        $0.balances = [Self.address(4): 10, Self.address(5): 9, Self.address(8): 100]
      }
      // An endpoint that fails changes nothing.
      endpoint.state.withLock { $0.status = .internalServerError }
      try await parts.recheckGates()
      #expect(try await parts.readers() == all)
      endpoint.state.withLock {
        $0.status = .ok
        $0.silent = [Self.address(6)]
      }
      // Not yet.
      try await parts.gates.recheckGates()
      #expect(try await parts.readers() == all)
      try await parts.recheckGates()
      #expect(try await parts.readers() == [1, 2, 3, 4, 6, 8])
      #expect(endpoint.state.withLock { $0.batches } == [8, 8])
      // A gate that is ended asks for nothing, nor does one that is none.
      _ = try await parts.store.write(keys: all, to: "subscribers", of: Self.forum, by: 1)
      for text in ["", "a file"] {
        _ = try await parts.store.write(Array(text.utf8), to: "gate", of: Self.forum, by: 1)
        try await parts.recheckGates()
      }
      #expect(try await parts.readers() == all)
      #expect(endpoint.state.withLock { $0.batches }.count == 2)
    }
  }

  @Test func aChainWithoutAnEndpointChangesNothing() async throws {
    let store = try await open()
    let parts = try Parts(store, "")
    _ = try await store.write(Array(Self.gate.utf8), to: "gate", of: Self.forum, by: 1)
    _ = try await store.write(keys: [2, 9], to: "subscribers", of: Self.forum, by: 1)
    #expect(try await parts.join(3) == .internalError)
    try await parts.recheckGates()
    #expect(try await parts.readers() == [2, 9])
  }

  @Test func manyAreAskedAboutInBatches() async throws {
    try await withParts { parts, endpoint in
      for user in 101...350 { try await make(user, .key, parts.store) }
      _ = try await parts.write(Self.gate)
      _ = try await parts.store.write(
        keys: Array(101...350), to: "subscribers", of: Self.forum, by: 1)
      endpoint.state.withLock { state in
        for user in 101...350 where user != 200 { state.balances[Self.address(user)] = 10 }
      }
      try await parts.recheckGates()
      #expect(endpoint.state.withLock { $0.batches } == [100, 100, 50])
      #expect(try await parts.readers() == Array(101...350).filter { $0 != 200 })
    }
  }

  /// Each forum is asked about by one of those who share a round, and whose contract fails is asked about once.
  @Test func aRoundIsShared() async throws {
    try await withParts { parts, endpoint in
      for forum in 20...25 {
        _ = try await parts.store.makeForum(forum, author: forum < 24 ? 1 : 2)
        _ = try await parts.store.write(
          Array(Self.gate.utf8), to: "gate", of: forum, by: forum < 24 ? 1 : 2)
        _ = try await parts.store.write(
          keys: [3], to: "subscribers", of: forum, by: forum < 24 ? 1 : 2)
      }
      let store = parts.store
      let now = ApptimistStore.now
      @Sendable func take() async throws -> [EncryptionPublicKey] {
        var taken: [EncryptionPublicKey] = []
        while let due = try await store.nextGate(at: now, every: .seconds(60)) {
          taken.append(due.forum)
        }
        return taken
      }
      async let here = take()
      async let there = take()
      let all = try await here + there
      #expect(all.count == 6 && Set(all) == Set((20...25).map { StoreFixture.key($0) }))
      #expect(try await store.nextGate(at: now + .seconds(59), every: .seconds(60)) == nil)
      // A clock that was set back keeps nothing from being asked.
      #expect(try await store.nextGate(at: now - .seconds(1), every: .seconds(60)) != nil)
      _ = try await take()
      endpoint.state.withLock { $0.status = .internalServerError }
      try await parts.recheckGates()
      #expect(endpoint.state.withLock { $0.batches } == [1, 1])
    }
  }

  /// What is changed while a chain is asked counts.
  @Test func aGateThatChangesMeanwhileChangesNothing() async throws {
    try await withParts { parts, endpoint in
      _ = try await parts.write(Self.gate)
      _ = try await parts.store.write(keys: [4, 5], to: "subscribers", of: Self.forum, by: 1)
      endpoint.state.withLock { $0.balances[Self.address(2)] = 10 }
      let number = Lock(10)
      endpoint.state.withLock {
        $0.first = {
          let least = number.withLock { number in
            number += 1
            return number
          }
          _ = try await parts.write(Self.gate.replacing(" 10", with: " \(least)"))
        }
      }
      #expect(try await parts.join(2) == .internalError)
      try await parts.recheckGates()
      #expect(try await parts.readers() == [4, 5])
      // Users who became moderators or joined meanwhile stay.
      endpoint.state.withLock {
        $0.first = {
          _ = try await parts.store.write(keys: [4], to: "moderators", of: Self.forum, by: 1)
          _ = try await parts.store.write(
            keys: [4, 5, 6], to: "subscribers", of: Self.forum, by: 1)
        }
      }
      try await parts.recheckGates()
      #expect(try await parts.readers() == [4, 6])
    }
  }

  /// An endpoint that hangs keeps nothing waiting but the join, and a lock on the readers is respected.
  @Test func joinsWait() async throws {
    try await withParts { parts, endpoint in
      _ = try await parts.write(Self.gate)
      endpoint.state.withLock { $0.balances[Self.address(2)] = 10 }
      let isAsked = Lock(false)
      let mayAnswer = Lock(false)
      endpoint.state.withLock {
        $0.first = {
          isAsked.withLock { $0 = true }
          try await waitUntil { mayAnswer.withLock { $0 } }
        }
      }
      async let joined = parts.join(2)
      try await waitUntil { isAsked.withLock { $0 } }
      #expect(try await parts.write("x", to: "a", of: Self.forum) == .done(nil))
      #expect(try await parts.reply(.lock, "subscribers", Self.forum, 1) == .done([]))
      mayAnswer.withLock { $0 = true }
      try await Task.sleep(for: .milliseconds(300))
      #expect(try await parts.readers() == [])
      _ = try await parts.reply(.write(StoreFixture.key(3).bytes), "subscribers", Self.forum, 1)
      #expect(try await joined == .done)
      #expect(try await parts.readers() == [3, 2])
    }
  }

  /// Each kind of asset, at contracts in a virtual machine.
  @Test(.enabled(if: AccountChain.isThere, "needs eth-tester"))
  func allKindsOfTokensAreAskedFor() async throws {
    let chain = try await AccountChain(owner: Self.address(1))
    let store = try await open()
    let parts = try Parts(store, "[chains]\n1 = \"\(chain.url)\"")
    let token = chain.token
    for (kind, slot, value) in [
      ("erc20:\(token) 300", Self.address(2), String(300, radix: 16)),
      ("erc721:\(token)", Self.address(3), "1"),
      ("erc721:\(token)/7 1", "7", Self.address(4)),
      ("erc1155:\(token)/256 5", Self.address(5 + 256), "5"),
    ] {
      _ = try await parts.store.write([], to: "subscribers", of: Self.forum, by: 1)
      #expect(try await parts.write("eip155:1/\(kind)") == .done(nil))
      let joins = { (users: ClosedRange<Int>) in
        var joined: [Int] = []
        for user in users where try await parts.join(user) == .done { joined.append(user) }
        return joined
      }
      let before = try await joins(2...5)
      try await chain.set(slot, to: value)
      let after = try await joins(2...5)
      #expect(after.count == before.count + 1)
      try await parts.recheckGates()
      #expect(try await parts.readers() == before + after.filter { !before.contains($0) })
      try await chain.set(slot, to: "0")
      try await parts.recheckGates()
      #expect(try await parts.readers() == before)
    }
    // No contract, and one that knows none of it.
    for address in [Self.contract, chain.wallet] {
      #expect(try await parts.write("eip155:1/erc20:\(address) 1") == .done(nil))
      #expect(try await parts.join(2) == .notPermitted)
    }
    try await chain.stop()
    #expect(try await parts.join(2) == .internalError)
  }
}
