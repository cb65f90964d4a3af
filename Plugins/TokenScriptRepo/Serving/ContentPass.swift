internal import Synchronization
internal import Platform

/// Reads and compresses contents on threads that give way to all others.
///
/// A request for a content that isn't read yet has it read, and a content is served as it is until its compressed forms are
/// there, so nothing waits for the end of a pass.
final class ContentPass: Sendable {
  private final class StopFlag: Sendable { let isSet = Atomic<Bool>(false) }

  private let stopFlag = StopFlag()
  private let reading: Task<Bool, Never>
  private let work: Task<Void, Never>

  /// Starts to read the contents that aren't read yet, and then to compress those that have no compressed forms yet.
  ///
  /// - Parameters:
  ///   - contents: the contents.
  ///   - threads: the threads that read and compress.
  init(_ contents: [Content], on threads: ThreadPool) {
    let flag = stopFlag
    func forEach(_ contents: [Content], _ body: @escaping @Sendable (Content) -> Void) async {
      // Without room for a thread the contents stay as they are.
      _ = try? await threads.map(contents) { content in
        if !flag.isSet.load(ordering: .relaxed) { body(content) }
      }
    }
    reading = Task {
      await forEach(contents.filter { $0.bytes == nil }) { _ = try? $0.load() }
      return contents.allSatisfy { $0.bytes != nil }
    }
    work = Task { [reading] in
      _ = await reading.value
      await forEach(contents.filter { $0.variants == nil }) { $0.compress() }
    }
  }

  /// Leaves out the contents that no thread has begun with.
  func stop() { stopFlag.isSet.store(true, ordering: .relaxed) }

  /// Waits until the pass has read what it can.
  ///
  /// - Returns: whether all contents are read.
  func hasRead() async -> Bool { await reading.value }

  /// Waits for the end of the pass.
  func wait() async { await work.value }
}
