internal import ApptimistProtocol
internal import Cluster
internal import Cryptography
internal import Observability
internal import Storage
internal import Testing

@testable import Apptimist

/// Posts on their way to mailboxes.
@Suite struct MessageDeliveryTests {
  private static let forum = 9

  private let fixture = StoreFixture()

  private func delivery(over store: ApptimistStore) -> MessageDelivery {
    let hub = SessionHub(limit: 1)
    let clients = ClientAccounting(ClientLimits(), clock: { ApptimistStore.now })
    return MessageDelivery(
      store: store, directory: AccountDirectory(store, readsForumsAnew: true),
      fanOut: ForumFanOut(keys: .generate(), store: store), hub: hub, clients: clients,
      metrics: ApptimistMetrics(Metrics(), hub: hub, clients: clients))
  }

  private func post(_ number: Int) throws -> Post {
    let forum = StoreFixture.key(Self.forum)
    let sender = StoreFixture.key(1)
    let message = PDU.Message(time: UInt64(number), recipient: forum, to: forum, from: sender)
    let received = ReceivedPDU(
      pdu: .message(message), header: PDU.message(message).encoded(), data: [UInt8(number)])
    return try #require(Post(message, received, by: sender))
  }

  /// Other nodes may have changed a forum; a query for each post would make the ones behind it wait.
  @Test func aForumIsReadAnewForPostsThatCameMeanwhileOnceForAll() async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...3)
    _ = try await store.makeForum(Self.forum, author: 1)
    #expect(try await store.write(keys: [2], to: "subscribers", of: Self.forum, by: 1) == .done)
    let messages = delivery(over: store)
    let requester = Requester(
      session: SessionID(number: 0), network: nil, login: StoreFixture.login(1))
    /// Sends posts that came together, and returns the number of queries that it took.
    func send(_ numbers: ClosedRange<Int>) async throws -> Int {
      let before = store.store.statistics.reads
      let outcomes = try await messages.deliver(try numbers.map(post), from: requester).outcomes
      #expect(outcomes.count == numbers.count)
      return store.store.statistics.reads - before
    }
    #expect(try await send(1...4) == 1)
    #expect(try await store.entries(of: 2).count == 4)
    #expect(try await store.write(keys: [2, 3], to: "subscribers", of: Self.forum, by: 1) == .done)
    #expect(try await send(5...6) == 1)
    #expect(try await store.entries(of: 2).count == 6)
    #expect(try await store.entries(of: 3).count == 2)
  }
}
