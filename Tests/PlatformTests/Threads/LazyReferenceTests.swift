internal import Synchronization
internal import Testing
internal import Platform

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
