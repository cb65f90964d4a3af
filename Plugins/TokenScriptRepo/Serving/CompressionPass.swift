internal import Synchronization
internal import Threading

/// Compresses contents on threads that give way to all others.
///
/// A content is served as it is until its compressed forms are there, so nothing waits for the end of a pass.
final class CompressionPass: Sendable {
  private final class StopFlag: Sendable {
    let isSet = Atomic<Bool>(false)
  }

  private let stopFlag = StopFlag()
  private let work: Task<Void, Never>

  /// Starts to compress the contents that have no compressed forms yet.
  ///
  /// - Parameters:
  ///   - contents: the contents.
  ///   - threads: the threads that compress.
  init(_ contents: [Content], on threads: ThreadPool) {
    work = Task { [stopFlag] in
      // Without room for a thread the contents stay as they are.
      _ = try? await threads.map(contents.filter { $0.variants == nil }) { content in
        if !stopFlag.isSet.load(ordering: .relaxed) { content.compress() }
      }
    }
  }

  /// Leaves out the contents that no thread has begun with.
  func stop() { stopFlag.isSet.store(true, ordering: .relaxed) }

  /// Waits for the end of the pass.
  func wait() async { await work.value }
}
