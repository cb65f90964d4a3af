internal import Synchronization

/// Compresses contents on all cores, behind whatever else they have to do.
///
/// Until a content is compressed it is served as it is, so nobody has to wait for the end.
final class CompressionPass: Sendable {
  private let isStopped: Stop
  private let work: Task<Void, Never>
  private let ended: AsyncStream<Void>
  private let signal: AsyncStream<Void>.Continuation

  private final class Stop: Sendable {
    let flag = Atomic<Bool>(false)
  }

  /// Begins at once.
  ///
  /// - Parameter contents: those that are compressed already are skipped.
  init(_ contents: [Content]) {
    let isStopped = Stop()
    let (ended, signal) = AsyncStream<Void>.makeStream()
    self.isStopped = isStopped
    self.ended = ended
    self.signal = signal
    work = Task {
      // Without room for a thread there is nothing to lose but the saving.
      _ = try? await WorkerThreads.map(
        contents.filter { $0.variants == nil }, width: WorkerThreads.cores, niceness: 10
      ) { content in
        if !isStopped.flag.load(ordering: .relaxed) { content.compress() }
      }
      signal.finish()
    }
  }

  /// Leaves out what is not begun yet.
  func stop() { isStopped.flag.store(true, ordering: .relaxed) }

  /// Waits for the end, but not for ever.
  ///
  /// - Parameter limit: how long at most.
  func wait(atMost limit: Duration) async {
    let timer = Task { [signal] in
      try? await Task.sleep(for: limit)
      signal.finish()
    }
    for await _ in ended {}
    timer.cancel()
  }

  /// Waits for the end.
  func wait() async { await work.value }
}
