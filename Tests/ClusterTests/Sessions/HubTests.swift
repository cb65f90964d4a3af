import Cluster
import Testing

@Suite struct HubTests {
  private typealias Stream = ModelStream<Sparse>

  private let store = ModelStore<Sparse>()
  private let loop = ModelLoop()
  private let hub = Hub<Int, Stream>(limit: 2)

  private func join(_ id: Int, of user: Int) -> Stream {
    let stream = Stream(id, of: user, after: Sparse(rawValue: 0), on: loop, store)
    _ = hub.join(stream, of: user)
    return stream
  }

  private func entry(_ position: Int64) -> EntryUpdate<Sparse, Void> {
    .entry(StreamEntry((), at: Sparse(rawValue: position), after: Sparse(rawValue: position - 1)))
  }

  @Test func theOldestMemberGivesWay() {
    let first = join(1, of: 7)
    _ = join(2, of: 7)
    let surplus = hub.join(Stream(3, of: 7, after: first.start, on: loop, store), of: 7)
    #expect(surplus === first)
    #expect(hub.members(of: 7).map(\.id) == [2, 3])
    #expect(hub.count == 2)
    hub.leave(1, of: 7)
    hub.leave(2, of: 7)
    hub.leave(3, of: 7)
    #expect(hub.count == 0 && hub.members.isEmpty)
  }

  @Test func membersAreToldOnTheirLoopInOrder() {
    let (stream, maker, stranger) = (join(1, of: 7), join(2, of: 7), join(3, of: 8))
    hub.publish([(7, entry(1)), (7, entry(2))], except: 2)
    hub.publish([(7, entry(3))])
    #expect(stream.received.isEmpty)
    loop.run()
    #expect(stream.received.map(\.rawValue) == [1, 2, 3])
    #expect(maker.received.isEmpty && stranger.received.isEmpty)
    #expect(maker.cursor.wantsRead)
  }

  @Test func whatAMemberIsToldIsBounded() {
    let stream = join(1, of: 7)
    hub.publish((1...1000).map { (7, entry($0)) })
    hub.publish([(7, .rumor(upTo: Sparse(rawValue: .max)))])
    hub.publish([(7, entry(1001))])
    store.entries[7] = (1...1001).map { Sparse(rawValue: $0) }
    loop.run()
    while !stream.isIdle { stream.readOn() }
    #expect(stream.received == store.entries[7])
  }
}
