internal import ApptimistProtocol
internal import Cluster
internal import Cryptography
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing

@testable import Apptimist

/// Posts on their way to mailboxes.
@Suite(.ownThreads) struct MessageDeliveryTests {
  private static let forum = 9

  private func delivery(over store: ApptimistStore) -> MessageDelivery {
    let hub = SessionHub(limit: 1)
    let clients = ClientAccounting(ClientLimits(), clock: { ApptimistStore.now })
    return MessageDelivery(
      store: store, directory: AccountDirectory(store, isShared: true),
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

  private let requester = Requester(
    session: SessionID(number: 0), network: nil, login: StoreFixture.login(1))

  /// Passes a store with three users, the first of whom has a forum with readers.
  private func withForum(
    readers: [Int], _ body: nonisolated(nonsending) (ApptimistStore) async throws -> Void
  ) async throws {
    try await withSharedStore { store in
      try await store.makeUsers(1...3)
      _ = try await store.makeForum(Self.forum, author: 1)
      try await setReaders(readers, in: store)
      try await body(store)
    }
  }

  /// Changes the readers as another node does, of which this one's directory doesn't learn.
  private func setReaders(_ readers: [Int], in store: ApptimistStore) async throws {
    let code = try await store.write(keys: readers, to: "subscribers", of: Self.forum, by: 1)
    #expect(code == .done)
  }

  /// What another node has changed counts for the posts that come then, without a query for each.
  @Test func aForumIsReadAnewOnlyIfItHasChanged() async throws {
    try await withForum(readers: [2]) { store in
      let messages = delivery(over: store)
      /// Sends posts that came together, and returns the number of queries that it took.
      func send(_ numbers: ClosedRange<Int>) async throws -> Int {
        let before = store.store.statistics.reads
        let outcomes = try await messages.deliver(try numbers.map(post), from: requester).outcomes
        #expect(
          outcomes.count == numbers.count
            && outcomes.allSatisfy { $0 == .queued(isKnown: false, own: nil, isOwnNew: false) })
        return store.store.statistics.reads - before
      }
      #expect(try await send(1...4) == 1)
      #expect(try await send(5...5) == 0)
      #expect(try await store.entries(of: 2).count == 5)
      try await setReaders([2, 3], in: store)
      #expect(try await send(6...7) == 1)
      #expect(try await store.entries(of: 2).count == 7)
      #expect(try await store.entries(of: 3).count == 2)
      try await setReaders([3], in: store)
      #expect(try await send(8...8) == 1)
      #expect(try await store.entries(of: 2).count == 7)
      #expect(try await store.entries(of: 3).count == 3)
    }
  }

  /// A post is refused, or goes to nobody, only by what the store has now.
  @Test func whatIsRememberedRefusesNothing() async throws {
    try await withForum(readers: []) { store in
      let messages = delivery(over: store)
      func send(_ number: Int) async throws -> PostOutcome? {
        try await messages.deliver([try post(number)], from: requester).outcomes.first
      }
      _ = try await send(1)
      #expect(try await store.entries(of: 2).isEmpty)
      try await setReaders([2], in: store)
      _ = try await send(2)
      #expect(try await store.entries(of: 2).count == 1)
      #expect(try await store.deleteForum(Self.forum, by: 1) == .done)
      #expect(try await send(3) == .refused(.notFound))
      #expect(try await send(4) == .refused(.notFound))
    }
  }
}
