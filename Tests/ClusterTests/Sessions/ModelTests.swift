import Cluster
import TestSupport
import Testing

/// Runs users' streams on several nodes in random order: news come late, twice, out of order or not at all, streams fall
/// behind and come back, and notices say anything. In the end each stream has sent what it had to, in order, once.
@Suite struct ModelTests {
  @Test(arguments: TestSeeds.random(20, and: [1, 2, 3]))
  func streamsOfConsecutivePositionsSendAllEntries(seed: UInt64) {
    var model = Model<Consecutive>(seed: seed)
    model.run(steps: 2_000)
    model.settle()
  }

  @Test(arguments: TestSeeds.random(20, and: [1, 2, 3]))
  func streamsOfSparsePositionsSendAllEntries(seed: UInt64) {
    var model = Model<Sparse>(seed: seed)
    model.run(steps: 2_000)
    model.settle()
  }
}

extension RandomAccessCollection {
  /// Returns one of the elements, of which there must be some.
  fileprivate func one(by random: inout SeededGenerator) -> Element {
    self[index(startIndex, offsetBy: Int.random(in: 0..<count, using: &random))]
  }
}

private struct Model<Position: ModelPosition> {
  typealias Stream = ModelStream<Position>
  typealias Told = (node: Int, user: Int, news: EntryUpdate<Position, Void>, origin: Int?)

  private static var users: Range<Int> { 0..<2 }
  private static var nodes: Range<Int> { 0..<3 }

  let store = ModelStore<Position>()
  let hubs = Self.nodes.map { _ in Hub<Int, Stream>(limit: 3) }
  let loops = Self.nodes.map { _ in [ModelLoop(), ModelLoop()] }
  var streams: [(node: Int, stream: Stream)] = []
  var untold: [Told] = []
  var lastID = 0
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func run(steps: Int) {
    for _ in 0..<steps {
      switch Int.random(in: 0..<20, using: &random) {
      case 0: begin()
      case 1: end()
      case 2...5: append()
      case 6: drop()
      case 7...10: tell()
      case 11: look(Self.nodes.one(by: &random))
      case 12: lie()
      case 13: streams.randomElement(using: &random)?.stream.isBackedUp.toggle()
      case 14...16: loops.one(by: &random).one(by: &random).run()
      default: streams.randomElement(using: &random)?.stream.readOn()
      }
    }
  }

  /// A device connects, and has what it has got before, or wants new entries only.
  private mutating func begin() {
    let user = Self.users.one(by: &random)
    let node = Self.nodes.one(by: &random)
    let last = store.last(of: user)
    let start =
      Bool.random(using: &random) ? last : store.entries[user]?.randomElement(using: &random)
    lastID += 1
    let stream = Stream(
      lastID, of: user, after: start ?? Position(rawValue: 0),
      on: loops[node].one(by: &random), store)
    streams.append((node, stream))
    if let surplus = hubs[node].join(stream, of: user) {
      streams.removeAll { $0.stream === surplus }
      check(surplus)
    }
  }

  private mutating func end() {
    guard let index = streams.indices.randomElement(using: &random) else { return }
    let (node, stream) = streams.remove(at: index)
    hubs[node].leave(stream.id, of: stream.user)
    check(stream)
  }

  /// A message is stored, by a device or by somebody else; its news are told some time.
  private mutating func append() {
    let user = Self.users.one(by: &random)
    let predecessor = store.last(of: user)
    let position = Position.next(after: predecessor, &random)
    store.last[user] = position
    // An entry that is stored nowhere, as the sender is blocked.
    if Position.self == Sparse.self, Int.random(in: 0..<5, using: &random) == 0 { return }
    store.entries[user, default: []].append(position)
    let maker = streams.filter { $0.stream.user == user }.randomElement(using: &random)
    let isOwn = Int.random(in: 0..<4, using: &random) == 0
    if isOwn, let maker {
      maker.stream.own.insert(position)
      maker.stream.cursor.skip(position, after: predecessor)
    }
    let node = maker?.node ?? 0
    let entry = StreamEntry((), at: position, after: predecessor)
    untold.append((node, user, .entry(entry), isOwn ? maker?.stream.id : nil))
    for other in Self.nodes where other != node {
      guard Int.random(in: 0..<4, using: &random) > 0 else { continue }
      untold.append((other, user, .rumor(upTo: position), nil))
    }
  }

  private mutating func drop() {
    let user = Self.users.one(by: &random)
    guard let index = store.entries[user]?.indices.randomElement(using: &random) else { return }
    if let position = store.entries[user]?.remove(at: index) {
      store.dropped[user, default: []].insert(position)
    }
  }

  /// Some news are told, in any order, sometimes twice.
  private mutating func tell() {
    guard let index = untold.indices.randomElement(using: &random) else { return }
    let told = untold[index]
    if Int.random(in: 0..<8, using: &random) > 0 { untold.remove(at: index) }
    hubs[told.node].publish([(told.user, told.news)], except: told.origin)
  }

  private func look(_ node: Int) {
    hubs[node].publish(Self.users.map { ($0, .stored(upTo: store.last(of: $0))) })
  }

  /// A notice that nobody has reason to send.
  private mutating func lie() {
    let numbers: [Int64] = [.max, .max - 1, 0, 7]
    let number = numbers.randomElement(using: &random) ?? 0
    hubs[Self.nodes.one(by: &random)].publish(
      Self.users.map { ($0, .rumor(upTo: Position(rawValue: number))) })
  }

  // MARK: - The end

  /// Nothing is told any more but what the nodes see for themselves.
  mutating func settle() {
    untold = []
    for (_, stream) in streams { stream.isBackedUp = false }
    for node in Self.nodes { look(node) }
    for loop in loops.joined() { loop.run() }
    for (_, stream) in streams {
      var steps = 0
      while !stream.isIdle, steps < 10_000 {
        stream.readOn()
        steps += 1
      }
      #expect(stream.isIdle)
      check(stream)
      let missing = Set(store.entries[stream.user] ?? []).filter { $0 > stream.start }
        .subtracting(stream.received).subtracting(stream.own)
      #expect(missing.isEmpty)
    }
    #expect(hubs.map(\.count).reduce(0, +) == streams.count)
  }

  /// A stream sends entries of its user that it hasn't made, behind its start, in order, each once.
  private func check(_ stream: Stream) {
    let all = Set(store.entries[stream.user] ?? []).union(store.dropped[stream.user] ?? [])
    #expect(zip(stream.received, stream.received.dropFirst()).allSatisfy(<))
    #expect(stream.received.allSatisfy { $0 > stream.start && all.contains($0) })
    #expect(stream.own.isDisjoint(with: stream.received))
  }
}
