internal import Budgets
internal import Formats
internal import Synchronization
internal import TestSupport
internal import Testing

@Suite struct BudgetTests {
  /// Counts the holdings that were lost.
  private final class Losses: Sendable {
    let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
  }

  private func holding(
    of budget: Budget<String>, for owner: String?, _ losses: Losses = Losses()
  ) -> Holding<String> {
    Holding(of: budget, for: owner) { losses.add() }
  }

  @Test func anOwnerHasItsShareAtMost() {
    let budget = Budget<String>(capacity: 100, share: 40)
    let first = holding(of: budget, for: "a")
    let second = holding(of: budget, for: "a")
    #expect(first.set(to: 30))
    #expect(!second.set(to: 11))
    #expect(second.set(to: 10))
    #expect(!first.set(to: 31))
    #expect(budget.held(by: "a") == 40)
    #expect(budget.statistics.refused == 2)
    withExtendedLifetime((first, second)) {}
  }

  @Test func nobodyLosesForARequestThatHasNoRoomAllTheSame() {
    let losses = Losses()
    let budget = Budget<String>(capacity: 100, share: 100)
    let large = holding(of: budget, for: "large", losses)
    let small = holding(of: budget, for: "small", losses)
    let asker = holding(of: budget, for: "asker", losses)
    #expect(large.set(to: 60))
    #expect(small.set(to: 40))
    // With what the largest owner has there would be room for 60 and no more.
    #expect(!asker.set(to: 80))
    #expect(asker.set(to: 50))
    #expect(losses.value == 1)
    #expect(budget.held(by: "large") == 0 && budget.held(by: "small") == 40)
    withExtendedLifetime((large, small, asker)) {}
  }

  @Test func aReleasedHoldingGivesBack() {
    let budget = Budget<String>(capacity: 100, share: 100)
    do {
      let holding = holding(of: budget, for: "a")
      #expect(holding.set(to: 60))
      #expect(holding.set(to: 50))
      #expect(budget.statistics.held == 50)
      withExtendedLifetime(holding) {}
    }
    #expect(budget.statistics.held == 0)
    #expect(budget.statistics.owners == 0)
  }

  @Test func theLargestHolderLosesItsLargestHolding() {
    let budget = Budget<String>(capacity: 100, share: 80)
    let losses = Losses()
    let kept = Losses()
    let large = holding(of: budget, for: "large", losses)
    let small = holding(of: budget, for: "large", kept)
    let other = holding(of: budget, for: "other", kept)
    #expect(large.set(to: 50) && small.set(to: 20) && other.set(to: 30))
    let newcomer = holding(of: budget, for: "newcomer", kept)
    #expect(newcomer.set(to: 10))
    #expect(losses.value == 1 && kept.value == 0)
    #expect(budget.statistics.lost == 1)
    #expect(budget.statistics.held == 60)
    #expect(!large.set(to: 1))
    #expect(large.set(to: 0))
    withExtendedLifetime((small, other)) {}
  }

  @Test func anOwnerThatHoldsAsMuchIsRefused() {
    let budget = Budget<String>(capacity: 100, share: 100)
    let first = holding(of: budget, for: "first")
    let second = holding(of: budget, for: "second")
    #expect(first.set(to: 60) && second.set(to: 40))
    #expect(!second.set(to: 60))
    #expect(budget.held(by: "first") == 60)
    #expect(budget.held(by: "second") == 40)
    withExtendedLifetime(first) {}
  }

  @Test func anExemptHoldingHasNoShareAndNeverLoses() {
    let budget = Budget<String>(capacity: 100, share: 10)
    let losses = Losses()
    let proxy = holding(of: budget, for: nil, losses)
    let client = holding(of: budget, for: "client")
    #expect(client.set(to: 10))
    #expect(proxy.set(to: 95))
    #expect(!client.set(to: 1))
    let newcomer = holding(of: budget, for: "newcomer")
    #expect(!newcomer.set(to: 6))
    #expect(newcomer.set(to: 5))
    #expect(losses.value == 0)
  }

  @Test func theIdlestHoldingGoesFirst() {
    let budget = Budget<String>(capacity: 3, share: 3, loss: .idlest)
    let (idle, busy) = (Losses(), Losses())
    let holdings = [idle, busy, busy].map { holding(of: budget, for: "a", $0) }
    for (index, holding) in holdings.enumerated() {
      #expect(holding.set(to: 1))
      holding.used(at: Int64(index))
    }
    let newcomer = holding(of: budget, for: "b")
    #expect(newcomer.set(to: 1))
    #expect(idle.value == 1 && busy.value == 0)
    withExtendedLifetime(holdings) {}
  }

  // MARK: - Owners that belong to others

  private func network(_ text: String) throws -> ClientNetwork {
    ClientNetwork(of: try #require(IPAddress(text)))
  }

  /// Fills a budget with one holding for each network of a site.
  private func flood(
    _ budget: Budget<ClientNetwork>, _ count: Int, _ losses: Losses
  ) throws -> [Holding<ClientNetwork>] {
    try (0..<count).map { number in
      let holding = try Holding(
        of: budget, for: network("2001:db8:1:\(String(number, radix: 16))::1")
      ) { losses.add() }
      #expect(holding.set(to: 1))
      return holding
    }
  }

  @Test(arguments: ["2001:db8:2::1", "192.0.2.7"])
  func aNewcomersSiteGetsAPlaceOfTheLargestSite(_ address: String) throws {
    let budget = Budget<ClientNetwork>(capacity: 100, share: 10, loss: .idlest)
    let losses = Losses()
    let flood = try flood(budget, 100, losses)
    let newcomer = try Holding(of: budget, for: network(address)) { Issue.record("lost") }
    #expect(newcomer.set(to: 1))
    #expect(losses.value == 1)
    withExtendedLifetime((flood, newcomer)) {}
  }

  @Test func aHouseholdLosesNothingToASiteOfManyNetworks() throws {
    let budget = Budget<ClientNetwork>(capacity: 20, share: 10, loss: .idlest)
    let household = try (0..<3).map { _ in
      try Holding(of: budget, for: network("2001:db8:2::1")) { Issue.record("lost") }
    }
    #expect(household.allSatisfy { $0.set(to: 1) })
    let losses = Losses()
    let flood = try flood(budget, 17, losses)
    let refused = try Holding(of: budget, for: network("2001:db8:1:ffff::1")) {}
    // Each of its networks holds as much as this one would.
    #expect(!refused.set(to: 1))
    #expect(losses.value == 0)
    withExtendedLifetime((household, flood)) {}
  }

  @Test func withinASiteTheLargestNetworkLoses() throws {
    let budget = Budget<ClientNetwork>(capacity: 10, share: 10, loss: .idlest)
    let losses = Losses()
    let large = try (0..<7).map { _ in
      try Holding(of: budget, for: network("2001:db8:1:1::1")) { losses.add() }
    }
    #expect(large.allSatisfy { $0.set(to: 1) })
    let small = try (2...4).map { number in
      try Holding(of: budget, for: network("2001:db8:1:\(number)::1")) { Issue.record("lost") }
    }
    #expect(small.allSatisfy { $0.set(to: 1) })
    let neighbour = try Holding(of: budget, for: network("2001:db8:1:5::1")) {}
    let other = try Holding(of: budget, for: network("198.51.100.1")) {}
    #expect(neighbour.set(to: 1) && other.set(to: 1))
    #expect(losses.value == 2)
    withExtendedLifetime((large, small)) {}
  }

  /// Addresses of one /24 are one site.
  @Test func addressesOfVersion4ShareASite() throws {
    let budget = Budget<ClientNetwork>(capacity: 8, share: 8, loss: .idlest)
    let losses = Losses()
    let flood = try (1...8).map { number in
      try Holding(of: budget, for: network("192.0.2.\(number)")) { losses.add() }
    }
    #expect(flood.allSatisfy { $0.set(to: 1) })
    let newcomers = try (1...4).map { number in
      try Holding(of: budget, for: network("198.51.\(number).1")) { Issue.record("lost") }
    }
    // The last one would hold as much as each site does.
    #expect(newcomers.map { $0.set(to: 1) } == [true, true, true, true])
    #expect(losses.value == 4)
    withExtendedLifetime((flood, newcomers)) {}
  }

  @Test func accountsShareWhatTheirNetworkMayHold() throws {
    let budget = Budget<ClientAccount>(capacity: 6, share: 5, loss: .idlest)
    let home = try network("192.0.2.1")
    let losses = Losses()
    let greedy = (0..<4).map { _ in
      Holding(of: budget, for: ClientAccount(home, "greedy")) { losses.add() }
    }
    #expect(greedy.allSatisfy { $0.set(to: 1) })
    for (moment, holding) in greedy.enumerated() { holding.used(at: Int64(100 + moment)) }
    // It is the idlest, and all the same the other account's loses.
    let idle = Holding(of: budget, for: ClientAccount(home, "idle")) { Issue.record("lost") }
    #expect(idle.set(to: 1))
    #expect(budget.heldOfShare(of: ClientAccount(home, "anybody")) == 5)
    #expect(!Holding(of: budget, for: ClientAccount(home, "new")) {}.set(to: 1))
    let others = try ["198.51.100.1", "198.51.101.1"].map { address in
      try Holding(of: budget, for: ClientAccount(network(address), "a")) { Issue.record("lost") }
    }
    #expect(others.allSatisfy { $0.set(to: 1) })
    #expect(losses.value == 1)
    withExtendedLifetime((greedy, idle, others)) {}
  }

  @Test func nothingIsLeftOfOwnersWithoutHoldings() throws {
    let budget = Budget<ClientNetwork>(capacity: 1000, share: 10)
    do {
      let flood = try flood(budget, 300, Losses())
      #expect(budget.statistics.owners == 300)
      withExtendedLifetime(flood) {}
    }
    #expect(budget.statistics.owners == 0)
    #expect(budget.statistics.held == 0)
  }

  /// With owners in three generations the sums of each add up, and no site loses while another holds more.
  @Test(arguments: TestSeeds.random(3)) func randomChangesOfNestedOwners(seed: UInt64) {
    struct Account: BudgetOwner {
      let site: Int
      let network: Int
      let number: Int
      var ancestry: [AnyHashable] { [site, network, number] }
    }
    var random = SeededGenerator(seed: seed)
    let budget = Budget<Account>(capacity: 500, share: 200)
    var holdings: [(owner: Account, holding: Holding<Account>)] = []
    for _ in 0..<10_000 {
      if holdings.isEmpty || Int.random(in: 0..<4, using: &random) == 0 {
        let owner = Account(
          site: Int.random(in: 0..<4, using: &random),
          network: Int.random(in: 0..<3, using: &random),
          number: Int.random(in: 0..<3, using: &random))
        holdings.append((owner, Holding(of: budget, for: owner) {}))
      }
      if holdings.count > 60 { holdings.remove(at: Int.random(in: 0..<60, using: &random)) }
      let index = Int.random(in: holdings.indices, using: &random)
      _ = holdings[index].holding.set(to: Int.random(in: 0..<100, using: &random))
      let sum = Set(holdings.map(\.owner)).map(budget.held(by:)).reduce(0, +)
      #expect(sum == budget.statistics.held)
      #expect(budget.statistics.held <= 500)
    }
    holdings = []
    #expect(budget.statistics.held == 0 && budget.statistics.owners == 0)
  }

  /// After any requests the amounts add up, nobody has more than its share, and the capacity holds.
  @Test(arguments: TestSeeds.random(3)) func randomChangesKeepTheSums(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let budget = Budget<Int>(capacity: 1000, share: 400)
    var holdings: [(owner: Int, holding: Holding<Int>)] = []
    for _ in 0..<20_000 {
      if holdings.isEmpty || Int.random(in: 0..<4, using: &random) == 0 {
        let owner = Int.random(in: 0..<8, using: &random)
        holdings.append((owner, Holding(of: budget, for: owner) {}))
      }
      if holdings.count > 40 { holdings.remove(at: Int.random(in: 0..<40, using: &random)) }
      let index = Int.random(in: holdings.indices, using: &random)
      _ = holdings[index].holding.set(to: Int.random(in: 0..<300, using: &random))
      let sums = (0..<8).map(budget.held(by:))
      #expect(sums.allSatisfy { 0...400 ~= $0 })
      #expect(sums.reduce(0, +) == budget.statistics.held)
      #expect(budget.statistics.held <= 1000)
    }
    holdings = []
    #expect(budget.statistics.held == 0 && budget.statistics.owners == 0)
  }
}
