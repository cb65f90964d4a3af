internal import Dispatch
internal import Glibc
internal import Synchronization
internal import Threading

/// Writes finished lines from a queue of its own, so that whoever logs never waits for the reader.
///
/// What waits is bounded; lines beyond that are dropped, and their number is told in a line.
final class LogWriter: Sendable {
  /// How many bytes may wait.
  private static let limit = 1 << 20

  private struct Waiting {
    var lines: [[UInt8]] = []
    var bytes = 0
    var dropped = 0
    var isScheduled = false
  }

  /// The rank of the lowest level that is written.
  let rank: Atomic<UInt8>
  private let descriptor: Int32
  private let queue = DispatchQueue(label: "log")
  private let waiting = Lock(Waiting())

  init(descriptor: Int32, rank: UInt8) {
    self.descriptor = descriptor
    self.rank = Atomic(rank)
  }

  func submit(_ line: [UInt8]) {
    let mustSchedule = waiting.withLock { waiting in
      if waiting.bytes + line.count > Self.limit {
        waiting.dropped += 1
      } else {
        waiting.lines.append(line)
        waiting.bytes += line.count
      }
      defer { waiting.isScheduled = true }
      return !waiting.isScheduled
    }
    if mustSchedule { queue.async { self.writeWaiting() } }
  }

  func flush(within limit: Duration) {
    let done = DispatchSemaphore(value: 0)
    queue.async { done.signal() }
    _ = done.wait(timeout: .now() + .nanoseconds(Int(limit / .nanoseconds(1))))
  }

  private func writeWaiting() {
    let (lines, dropped) = waiting.withLock { waiting in
      defer { waiting = Waiting() }
      return (waiting.lines, waiting.dropped)
    }
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
