internal import Glibc

/// Runs clients on one thread: reads what came, and writes what a turn made, once a client.
final class LoadLoop {
  private var clients: [Client] = []
  private var unflushed: [Client] = []
  private var flushing: [Client] = []
  private var buffer = [UInt8](repeating: 0, count: 256 << 10)
  private var polled: [pollfd] = []

  /// Takes a client, which stays until the program's end.
  func add(_ client: Client) {
    polled.append(pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0))
    clients.append(client)
    client.loop = self
    needsFlush(client)
  }

  /// Listens no more to a client, whose bytes stay in the kernel.
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

  /// Runs until a condition holds, which is asked after each turn.
  ///
  /// - Parameter seconds: after which it is an error that it doesn't.
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

/// Why a measurement can't be made.
struct LoadError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The monotonic clock, which all processes of a machine share.
func nanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
