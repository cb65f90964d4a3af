internal import Glibc
internal import Synchronization
internal import Threading

/// Writes finished lines on a thread of its own, so that nobody who logs waits for the reader.
///
/// The lines that wait are bounded. Further ones are dropped, and a line tells their number.
final class LogWriter: Sendable {
  /// The rank of the lowest level that is written.
  let rank: Atomic<UInt8>
  private let queue: LineQueue

  /// Makes a writer without starting its thread, which the first line does.
  init(descriptor: Int32, rank: UInt8) {
    queue = LineQueue(descriptor: descriptor)
    self.rank = Atomic(rank)
  }

  deinit { queue.close() }

  /// Hands a line over to the thread.
  func submit(_ line: [UInt8]) {
    guard queue.append(line) else { return }
    do {
      _ = try WorkerThread(named: "awd-log") { [queue] in queue.writeUntilClosed() }
    } catch {
      // Without room for a thread, a late line is better than none.
      queue.writeWithoutThread()
    }
  }

  /// Waits until all lines that were submitted are written.
  ///
  /// - Parameter limit: how long to wait at most.
  func flush(within limit: Duration) { queue.waitUntilWritten(within: limit) }
}

/// The lines that wait, shared by a writer and its thread.
private final class LineQueue: Sendable {
  /// The number of bytes that may wait.
  private static let limit = 1 << 20

  private struct State {
    var lines: [[UInt8]] = []
    var bytes = 0
    var dropped = 0
    var hasThread = false
    /// Whether the thread writes lines that it has taken.
    var isWriting = false
    var isClosed = false

    /// Whether nothing is left to write.
    var isEmpty: Bool { lines.isEmpty && dropped == 0 }

    mutating func take() -> (lines: [[UInt8]], dropped: Int) {
      defer { (lines, bytes, dropped) = ([], 0, 0) }
      return (lines, dropped)
    }
  }

  private let descriptor: Int32
  private let state = Monitor(State())

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Adds a line, or counts it as dropped.
  ///
  /// - Returns: whether a thread must be started.
  func append(_ line: [UInt8]) -> Bool {
    let (wakes, starts) = state.withLock { state in
      let wakes = state.isEmpty && !state.isWriting
      if state.bytes + line.count > Self.limit {
        state.dropped += 1
      } else {
        state.lines.append(line)
        state.bytes += line.count
      }
      defer { state.hasThread = true }
      return (wakes, !state.hasThread)
    }
    if wakes { state.wakeAll() }
    return starts
  }

  func writeUntilClosed() {
    while true {
      let (lines, dropped) = state.withLock(when: { !$0.isEmpty || $0.isClosed }) { state in
        state.isWriting = true
        return state.take()
      }
      write(lines, dropped: dropped)
      let isEnd = state.withLock { state in
        state.isWriting = false
        return state.isClosed && state.isEmpty
      }
      state.wakeAll()
      if isEnd { return }
    }
  }

  func writeWithoutThread() {
    let (lines, dropped) = state.withLock { state in
      state.hasThread = false
      return state.take()
    }
    write(lines, dropped: dropped)
  }

  func waitUntilWritten(within limit: Duration) {
    state.withLock(when: { $0.isEmpty && !$0.isWriting }, within: limit) { _ in }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    state.wakeAll()
  }

  private func write(_ lines: [[UInt8]], dropped: Int) {
    for line in lines { write(line) }
    if dropped > 0 {
      write(Array("\(dropped) log lines dropped: the reader is too slow\n".utf8))
    }
  }

  /// Writes one line in one call, unless the system takes only a part of it.
  private func write(_ line: [UInt8]) {
    var rest = line[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        unsafe poll(&ready, 1, -1)
      } else if errno != EINTR {
        // Nobody is left who could be told.
        return
      }
    }
  }
}
