internal import Glibc
internal import Synchronization

/// Tells the service manager how the daemon fares, as sd_notify(3) describes it; without one,
/// nothing.
struct NotifySocket: Sendable {
  /// How often the service manager wants to hear that the daemon lives; nil: it doesn't.
  let watchdog: Duration?
  private let path: String?

  /// The socket that the environment names.
  ///
  /// - Parameter environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` count.
  init(_ environment: [String: String]) {
    let path = environment["NOTIFY_SOCKET"].flatMap { path in
      // `@` stands for the abstract name space.
      path.hasPrefix("/") || path.hasPrefix("@") ? path : nil
    }
    self.path = path
    let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
    watchdog = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { microseconds in
      path != nil && isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }
  }

  /// The daemon serves; also after a reload.
  ///
  /// - Parameter status: a line for people, which `systemctl status` shows.
  func tellReady(_ status: String) { send("READY=1\nSTATUS=\(status)") }

  /// The daemon has begun to take up its configuration anew; ``tellReady(_:)`` follows.
  func tellReloading() {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    let microseconds = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
  }

  /// The daemon has begun to stop.
  func tellStopping() { send("STOPPING=1\nSTATUS=finishing what is open") }

  /// Tells that the daemon lives, as long as it does, until cancelled.
  ///
  /// - Parameter probes: each is called again and again and has to call what it is given soon, from
  ///   a thread whose standstill would be the daemon's.
  func keepAlive(_ probes: [@Sendable (@escaping @Sendable () -> Void) -> Void]) async {
    guard let watchdog else { return }
    while !Task.isCancelled {
      let answers = Answers()
      for probe in probes { probe { answers.count.add(1, ordering: .relaxed) } }
      // Three times as often as needed: one that comes late does no harm.
      try? await Task.sleep(for: watchdog / 3)
      if answers.count.load(ordering: .relaxed) == probes.count { send("WATCHDOG=1") }
    }
  }

  private final class Answers: Sendable {
    let count = Atomic(0)
  }

  private func send(_ message: String) {
    guard let path else { return }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = path.hasPrefix("@") ? [0] + path.utf8.dropFirst() : Array(path.utf8) + [0]
    let offset = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path)
    guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { return }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let text = Array(message.utf8)
    let length = socklen_t(offset + bytes.count)
    // Where the manager does not listen, nothing is lost by going on.
    _ = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), address, length)
      }
    }
  }
}
