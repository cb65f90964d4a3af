import Cluster
import TestSupport

/// A position as Apptimist's: each is the one before plus one.
struct Consecutive: EntryPosition {
  let rawValue: Int64
  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A position as Msgr's: some are given away to nothing.
struct Sparse: EntryPosition {
  let rawValue: Int64
  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A kind of positions, and how the next one is found.
protocol ModelPosition: EntryPosition {
  init(rawValue: Int64)
  static func next(after last: Self, _ random: inout SeededGenerator) -> Self
}

extension Consecutive: ModelPosition {
  static func next(after last: Self, _ random: inout SeededGenerator) -> Self {
    Consecutive(rawValue: last.rawValue + 1)
  }
}

extension Sparse: ModelPosition {
  static func next(after last: Self, _ random: inout SeededGenerator) -> Self {
    Sparse(rawValue: last.rawValue + Int64.random(in: 1...3, using: &random))
  }
}

/// A loop whose closures are run when the test says so.
///
/// Unchecked, like all of the model, because one test runs it on one thread.
final class ModelLoop: DeliveryLoop, @unchecked Sendable {
  private var waiting: [@Sendable () -> Void] = []

  func execute(_ body: @escaping @Sendable () -> Void) { waiting.append(body) }

  func run() {
    let bodies = waiting
    waiting = []
    for body in bodies { body() }
  }
}

/// The store of the model: the entries of each user, and the last position that was given away.
final class ModelStore<Position: ModelPosition>: @unchecked Sendable {
  var entries: [Int: [Position]] = [:]
  var last: [Int: Position] = [:]
  /// Entries that were there for a while.
  var dropped: [Int: Set<Position>] = [:]

  func last(of user: Int) -> Position { last[user] ?? Position(rawValue: 0) }

  func page(of user: Int, after position: Position) -> (entries: [Position], isLast: Bool) {
    let rest = (entries[user] ?? []).filter { $0 > position }
    return (Array(rest.prefix(3)), rest.count <= 3)
  }
}

/// A stream of the model, which reads a page in two steps.
final class ModelStream<Position: ModelPosition>: HubMember, @unchecked Sendable {
  let id: Int
  let user: Int
  let loop: ModelLoop
  let store: ModelStore<Position>
  let start: Position
  var cursor: Cursor<Position>
  var received: [Position] = []
  var own: Set<Position> = []
  var isBackedUp = false
  private var reading: Position?
  private var page: (entries: [Position], isLast: Bool)?

  init(
    _ id: Int, of user: Int, after start: Position, on loop: ModelLoop,
    _ store: ModelStore<Position>
  ) {
    (self.id, self.user, self.loop, self.store, self.start) = (id, user, loop, store, start)
    // So many that none is forgotten: the limit has a test of its own.
    cursor = Cursor(after: start, runLimit: 1_000)
  }

  func receive(_ updates: [EntryUpdate<Position, Void>]) {
    for update in updates {
      guard let entry = cursor.apply(update, isReady: !isBackedUp) else { continue }
      cursor.pass(entry.position)
      received.append(entry.position)
    }
  }

  /// Does the next step of reading, if there is one.
  func readOn() {
    if let page {
      for position in page.entries where cursor.wants(position) {
        cursor.pass(position)
        received.append(position)
      }
      cursor.finishRead(end: page.entries.last ?? reading, isLast: page.isLast)
      (self.page, reading) = (nil, nil)
    } else if let reading {
      page = store.page(of: user, after: reading)
    } else if !isBackedUp {
      reading = cursor.nextRead()
    }
  }

  var isIdle: Bool { reading == nil && !cursor.wantsRead }
}
