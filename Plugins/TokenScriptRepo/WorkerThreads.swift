internal import Glibc
internal import Synchronization
internal import SystemCalls
internal import Threading

/// Threads outside the cooperative pool and the event loops, for what blocks on the disk or keeps a
/// core busy for long.
enum WorkerThreads {
  /// Runs a closure on a thread of its own.
  ///
  /// - Parameter body: may block.
  /// - Returns: what the closure returns.
  /// - Throws: what the closure throws, or ``SystemError`` without room for a thread.
  static func run<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      do throws(SystemError) {
        _ = try WorkerThread(named: "awd-work") {
          continuation.resume(with: Swift.Result(catching: body))
        }
      } catch { continuation.resume(throwing: error) }
    }
  }

  /// Makes one value of each element, on so many threads at once.
  ///
  /// - Parameters:
  ///   - elements: what is to be worked on.
  ///   - width: how many threads, at least one.
  ///   - niceness: how much the threads give way to others, 0 (not at all) to 19.
  ///   - transform: may block.
  /// - Returns: the values in the order of the elements.
  /// - Throws: ``SystemError`` without room for even one thread.
  static func map<Element: Sendable, Value: Sendable>(
    _ elements: [Element], width: Int, niceness: CInt = 0,
    _ transform: @escaping @Sendable (Element) -> Value
  ) async throws -> [Value] {
    let work = Work(elements: elements, transform: transform)
    let width = max(1, min(width, elements.count))
    return try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<width {
        group.addTask {
          try await run {
            // Linux counts niceness by thread; one that can't be had does no harm.
            if niceness > 0 { _ = setpriority(CInt(PRIO_PROCESS.rawValue), 0, niceness) }
            work.run()
          }
        }
      }
      try await group.waitForAll()
      return work.values
    }
  }

  /// The elements of one `map` and what has become of them.
  private final class Work<Element: Sendable, Value: Sendable>: Sendable {
    private let elements: [Element]
    private let transform: @Sendable (Element) -> Value
    private let next = Atomic<Int>(0)
    private let done = Lock<[(index: Int, value: Value)]>([])

    init(elements: [Element], transform: @escaping @Sendable (Element) -> Value) {
      self.elements = elements
      self.transform = transform
    }

    func run() {
      var mine: [(index: Int, value: Value)] = []
      while true {
        let index = next.add(1, ordering: .relaxed).oldValue
        guard index < elements.count else { break }
        mine.append((index, transform(elements[index])))
      }
      done.withLock { $0 += mine }
    }

    var values: [Value] { done.withLock { $0.sorted { $0.index < $1.index } }.map(\.value) }
  }

  /// How many cores there are.
  static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
