internal import Glibc
internal import Platform
internal import Synchronization

/// Writes finished lines on a thread of its own, so that nobody who logs waits for the reader.
///
/// The lines that wait are bounded. Further ones are dropped, and a line says their number. Equal events above a rate are
/// counted only.
final class LogWriter: Sendable {
  /// The rank of the lowest level that is written.
  let rank: Atomic<UInt8>
  private let queue: LineQueue
  private let hasThread: Bool

  /// Makes a writer.
  ///
  /// - Parameters:
  ///   - rank: the rank of the lowest level that is written.
  ///   - line: makes the line that says the number of events that were not written.
  init(descriptor: Int32, rank: UInt8, line: @escaping @Sendable (UnwrittenEvents) -> [UInt8]) {
    let queue = LineQueue(descriptor: descriptor, line: line)
    self.rank = Atomic(rank)
    self.queue = queue
    hasThread = (try? WorkerThread(named: "awd-log") { while queue.writeNext() {} }) != nil
  }

  deinit { queue.close() }

  /// Counts an event.
  ///
  /// - Returns: whether it is to be written.
  func admits(_ event: LogEvent) -> Bool { queue.admits(event) }

  /// Hands a line over to the thread.
  func submit(_ line: [UInt8]) {
    queue.append(line)
    // If the system has no room for a thread, the caller has to wait for the reader.
    if !hasThread { _ = queue.writeNext(within: .zero) }
  }

  /// Waits until all lines that were submitted are written.
  func flush(within limit: Duration) { queue.waitUntilWritten(within: limit) }
}

/// The events that a line stands for, because they have none of their own.
enum UnwrittenEvents: Sendable {
  /// Equal events beyond the rate.
  case counted(LogRates.Sum)
  /// A number of lines that the reader was too slow for.
  case dropped(Int)
}

/// The lines that wait, shared by a writer and its thread.
private final class LineQueue: Sendable {
  /// The number of bytes that may wait.
  private static let limit = 1 << 20

  private struct State {
    var lines: [[UInt8]] = []
    var bytes = 0
    var dropped = 0
    var rates = LogRates()
    /// True if lines are being written that were taken from the queue.
    var isWriting = false
    var isClosed = false

    var isEmpty: Bool { lines.isEmpty && dropped == 0 }
  }

  private let descriptor: Int32
  private let state = Monitor(State())

  private let line: @Sendable (UnwrittenEvents) -> [UInt8]

  init(descriptor: Int32, line: @escaping @Sendable (UnwrittenEvents) -> [UInt8]) {
    self.descriptor = descriptor
    self.line = line
  }

  /// Counts an event.
  ///
  /// - Returns: whether it is to be written.
  func admits(_ event: LogEvent) -> Bool {
    let (isAdmitted, isFirst) = state.withLock { state in
      let isCounting = state.rates.isCounting
      let isAdmitted = state.rates.admit(event, at: .now)
      return (isAdmitted, !isCounting && state.rates.isCounting)
    }
    // The thread has a time to keep from now on.
    if isFirst { state.wakeAll() }
    return isAdmitted
  }

  /// Adds a line, or counts it as dropped.
  func append(_ line: [UInt8]) {
    let mayWait = state.withLock { state in
      defer {
        if state.bytes + line.count > Self.limit {
          state.dropped += 1
        } else {
          state.lines.append(line)
          state.bytes += line.count
        }
      }
      return state.isEmpty && !state.isWriting
    }
    if mayWait { state.wakeAll() }
  }

  /// Waits for lines, and writes them.
  ///
  /// - Parameter limit: the longest time to wait, or nil for no limit.
  /// - Returns: false once the queue is closed and empty.
  func writeNext(within limit: Duration? = nil) -> Bool {
    let isCounting = state.withLock { $0.rates.isCounting }
    let (lines, dropped, sums) = state.withLock(
      when: { !$0.isEmpty || $0.isClosed || $0.rates.isCounting != isCounting },
      within: limit ?? (isCounting ? .seconds(1) : nil)
    ) { state in
      defer {
        state.lines = []
        state.bytes = 0
        state.dropped = 0
        state.isWriting = true
      }
      return (
        state.lines, state.dropped,
        state.rates.drainSums(at: state.isClosed ? nil : ContinuousClock.now)
      )
    }
    for line in lines { write(line) }
    for sum in sums { write(line(.counted(sum))) }
    if dropped > 0 { write(line(.dropped(dropped))) }
    let isEnd = state.withLock { state in
      state.isWriting = false
      return state.isClosed && state.isEmpty
    }
    state.wakeAll()
    return !isEnd
  }

  func waitUntilWritten(within limit: Duration) {
    let sums = state.withLock(when: { $0.isEmpty && !$0.isWriting }, within: limit) { state in
      state.rates.drainSums(at: nil)
    }
    for sum in sums { write(line(.counted(sum))) }
  }

  /// Ends the thread after the lines that wait.
  func close() {
    state.withLock { $0.isClosed = true }
    state.wakeAll()
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
        // Nobody is left to report to.
        return
      }
    }
  }
}
