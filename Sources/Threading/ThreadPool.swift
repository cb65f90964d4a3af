internal import Glibc
internal import Synchronization

/// Runs work that blocks or keeps a core busy on a few threads of its own, beside the event loops and the cooperative
/// pool.
///
/// Threads start when there is work and end when there is none, so an idle pool costs nothing.
public final class ThreadPool: Sendable {
  private struct State {
    var running = 0
    var waiting: [@Sendable () -> Void] = []
  }

  private let name: String
  private let width: Int
  private let queueLimit: Int
  private let niceness: CInt
  private let state = Lock(State())

  /// Makes a pool without starting a thread.
  ///
  /// - Parameters:
  ///   - name: the name of its threads; the system cuts it after 15 bytes.
  ///   - width: the number of pieces of work that run at once, at least one.
  ///   - queueLimit: the number of further pieces that may wait.
  ///   - niceness: the degree to which its threads give way to others, 0 (not at all) to 19.
  public init(
    named name: String, width: Int = ThreadPool.processorCount, queue queueLimit: Int = .max,
    niceness: CInt = 0
  ) {
    self.name = name
    self.width = max(1, width)
    self.queueLimit = queueLimit
    self.niceness = niceness
  }

  /// The error of a pool whose queue is full.
  public struct Busy: Error {}

  /// The number of pieces of work that wait for a thread.
  public var waiting: Int { state.withLock { $0.waiting.count } }

  /// The number of processors that are online.
  public static var processorCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  /// Runs a closure on one of the threads, in the order in which closures were submitted.
  ///
  /// - Parameter body: the work, which may block.
  /// - Returns: the closure's result.
  /// - Throws: ``Busy`` if the queue is full, ``SystemError`` if no thread can be started, or the closure's error.
  public func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      do {
        try submit { continuation.resume(with: Result(catching: body)) }
      } catch { continuation.resume(throwing: error) }
    }
  }

  /// Transforms every element, as many at once as the pool has threads.
  ///
  /// - Parameters:
  ///   - elements: the elements.
  ///   - transform: makes a value of an element; it may block.
  /// - Returns: the values, in the order of the elements.
  /// - Throws: as ``run(_:)``.
  public func map<Element: Sendable, Value: Sendable>(
    _ elements: [Element], _ transform: @escaping @Sendable (Element) -> Value
  ) async throws -> [Value] {
    let work = MappedElements(elements, transform)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<min(width, elements.count) {
        group.addTask { try await self.run { work.transformAll() } }
      }
      try await group.waitForAll()
      return work.values
    }
  }

  private func submit(_ work: @escaping @Sendable () -> Void) throws {
    try state.withLock { state in
      guard state.running < width else {
        guard state.waiting.count < queueLimit else { throw Busy() }
        state.waiting.append(work)
        return
      }
      _ = try WorkerThread(named: name, niceness: niceness) { [self] in
        work()
        while let next = nextOrEnd() { next() }
      }
      state.running += 1
    }
  }

  private func nextOrEnd() -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.running -= 1
      return nil
    }
  }
}

/// The elements of one ``ThreadPool/map(_:_:)``, taken by several threads, and their values.
private final class MappedElements<Element: Sendable, Value: Sendable>: Sendable {
  private let elements: [Element]
  private let transform: @Sendable (Element) -> Value
  private let next = Atomic<Int>(0)
  private let transformed = Lock<[(index: Int, value: Value)]>([])

  init(_ elements: [Element], _ transform: @escaping @Sendable (Element) -> Value) {
    self.elements = elements
    self.transform = transform
  }

  func transformAll() {
    var mine: [(index: Int, value: Value)] = []
    while true {
      let index = next.add(1, ordering: .relaxed).oldValue
      guard index < elements.count else { break }
      mine.append((index, transform(elements[index])))
    }
    transformed.withLock { $0 += mine }
  }

  var values: [Value] { transformed.withLock { $0.sorted { $0.index < $1.index } }.map(\.value) }
}
