internal import Synchronization
internal import TestSupport
internal import Testing

@testable import Platform

struct AtomicReferenceTests {
  private final class Token: Sendable {
    let number: Int
    let alive: Counter
    init(_ number: Int, _ alive: Counter) {
      self.number = number
      self.alive = alive
      alive.count.add(1, ordering: .relaxed)
    }
    deinit { alive.count.subtract(1, ordering: .relaxed) }
  }

  private final class Counter: Sendable {
    let count = Atomic<Int>(0)
  }

  @Test func readersSeeValuesInOrderWhileTheyAreReplaced() async {
    let alive = Counter()
    do {
      let cell = AtomicReference(Token(0, alive))
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<3 {
          group.addTask {
            var last = 0
            for _ in 0..<50_000 {
              let number = cell.value.number
              if number < last { return false }
              last = number
            }
            return true
          }
        }
        for number in 1...2_000 { cell.replace(with: Token(number, alive)) }
        for await ordered in group { #expect(ordered) }
      }
      #expect(cell.value.number == 2_000)
      #expect(alive.count.load(ordering: .relaxed) == 1)
    }
    #expect(alive.count.load(ordering: .relaxed) == 0)
  }
}

@Suite struct LazyReferenceTests {
  /// Counts how many of its kind have gone.
  private final class Object: Sendable {
    static let gone = Atomic<Int>(0)
    deinit { Self.gone.add(1, ordering: .relaxed) }
  }

  @Test func keepsTheFirstObjectOfManyAndReleasesAll() async {
    do {
      let reference = LazyReference<Object>()
      #expect(reference.value == nil)
      let kept = await withTaskGroup(of: ObjectIdentifier.self) { group in
        for _ in 0..<100 {
          group.addTask { ObjectIdentifier(reference.keep(Object())) }
        }
        return await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(kept == [reference.value.map(ObjectIdentifier.init)])
      #expect(Object.gone.load(ordering: .relaxed) == 99)
    }
    #expect(Object.gone.load(ordering: .relaxed) == 100)
  }
}
