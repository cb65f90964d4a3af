internal import Glibc

/// Runs clients on one thread. Each turn reads what came, then writes once for each client.
final class LoadLoop {
  private var clients: [Client] = []
  private var unflushed: [Client] = []
  private var flushing: [Client] = []
  private var buffer = [UInt8](repeating: 0, count: 256 << 10)
  private var polled: [pollfd] = []

  /// Adds a client for the rest of the program's life.
  func add(_ client: Client) {
    polled.append(pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0))
    clients.append(client)
    client.loop = self
    needsFlush(client)
  }

  /// Stops reading from a client, so that its bytes stay in the kernel.
  func remove(_ client: Client) {
    // poll(2) passes over negative descriptors.
    for index in polled.indices where polled[index].fd == client.descriptor {
      polled[index].fd = -1
    }
  }

  func needsFlush(_ client: Client) {
    guard !client.awaitsFlush else { return }
    client.awaitsFlush = true
    unflushed.append(client)
  }

  /// Runs until a condition holds, which is tested after each turn.
  ///
  /// - Parameters:
  ///   - seconds: the time after which it fails.
  ///   - isDone: the condition.
  func run(within seconds: Double = 60, until isDone: () -> Bool) throws(LoadError) {
    let deadline = nanoseconds() + UInt64(seconds * 1e9)
    flush()
    while !isDone() {
      guard nanoseconds() < deadline else { throw LoadError("nothing more comes") }
      var count = poll(&polled, nfds_t(polled.count), unflushed.isEmpty ? 100 : 1)
      for index in polled.indices where polled[index].revents != 0 {
        try clients[index].read(into: &buffer)
        count -= 1
        if count == 0 { break }
      }
      flush()
    }
  }

  private func flush() {
    swap(&unflushed, &flushing)
    for client in flushing { client.flush() }
    flushing.removeAll(keepingCapacity: true)
  }
}

/// A reason that a measurement can't be made.
struct LoadError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Returns the monotonic clock's time in nanoseconds, which all processes of a machine share.
func nanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
