internal import Synchronization

/// A number that only grows, and that any thread may add to.
public final class Counter: Sendable {
  private let count = Atomic<UInt64>(0)

  /// Adds to the count.
  ///
  /// - Parameter amount: the number to add.
  public func add(_ amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

  /// The count so far.
  public var value: UInt64 { count.load(ordering: .relaxed) }
}

/// A counter for each number of a range, such as for each status of responses.
@safe public final class CounterTable: @unchecked Sendable {
  // Safe to share: the memory lives as long as the object, and only atomics stand in it.
  private let counts: UnsafeMutableBufferPointer<Atomic<UInt64>>
  private let range: ClosedRange<Int>

  init(_ range: ClosedRange<Int>) {
    self.range = range
    unsafe counts = .allocate(capacity: range.count)
    for index in 0..<range.count { unsafe counts.initializeElement(at: index, to: Atomic(0)) }
  }

  deinit {
    unsafe counts.deinitialize()
    unsafe counts.deallocate()
  }

  /// Adds one to a number's count.
  ///
  /// - Parameter number: the number. One outside the range is ignored.
  public func add(_ number: Int) {
    guard range.contains(number) else { return }
    unsafe counts[number - range.lowerBound].wrappingAdd(1, ordering: .relaxed)
  }

  /// The counts that are not zero.
  public var values: [(number: Int, count: UInt64)] {
    range.compactMap { number in
      let count = unsafe counts[number - range.lowerBound].load(ordering: .relaxed)
      return count == 0 ? nil : (number, count)
    }
  }
}
