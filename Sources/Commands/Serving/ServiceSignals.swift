internal import Glibc
internal import Platform
internal import Synchronization

/// The signals that the daemon acts on.
///
/// A thread waits for them, so no code ever runs in a signal handler.
enum StopSignals {
  /// The meaning of a signal.
  enum Request: Sendable {
    /// SIGTERM or SIGINT.
    case stop
    /// SIGHUP.
    case reload
  }

  private static var set: sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&set, number) }
    return set
  }

  /// Blocks the signals for this thread and those that it starts. Call it before there are others.
  static func block() {
    var set = set
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Starts to wait for signals. The second one that asks to stop ends the process at once.
  ///
  /// - Returns: the requests as they come.
  /// - Throws: an error if the system has no room for a thread.
  static func requests(
    endingAtOnce endsAtOnce: @escaping @Sendable () -> Bool
  ) throws -> AsyncStream<Request> {
    let (stream, continuation) = AsyncStream.makeStream(of: Request.self)
    _ = try WorkerThread(named: "awd-signals") {
      var set = set
      var isStopping = false
      while true {
        var number: Int32 = 0
        guard unsafe sigwait(&set, &number) == 0 else { continue }
        if number == SIGHUP {
          continuation.yield(.reload)
        } else if isStopping {
          _exit(1)
        } else if endsAtOnce() {
          _exit(0)
        } else {
          isStopping = true
          continuation.yield(.stop)
        }
      }
    }
    return stream
  }
}

/// The signals that end a command which makes large files.
///
/// A thread waits for them, as ``StopSignals`` does, and removes what isn't complete.
enum CleanupSignals {
  /// Waits for the signals from now on. Call it before there are other threads.
  ///
  /// - Throws: an error if the system has no room for a thread.
  static func watch() throws(SystemError) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    // One that is ignored, as SIGHUP below nohup, stays so.
    for number in [SIGTERM, SIGINT, SIGHUP] where !isIgnored(number) {
      unsafe sigaddset(&set, number)
    }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    let watched = set
    _ = try WorkerThread(named: "awd-signals") {
      var set = watched
      while true {
        var number: Int32 = 0
        guard unsafe sigwait(&set, &number) == 0 else { continue }
        UnfinishedFiles.removeAll { end(by: number) }
      }
    }
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(number, nil, &action) == 0 else { return false }
    // SIG_IGN, which can't be compared with in Swift.
    return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
  }

  /// Ends the process as the signal does by itself, so that a shell or systemd sees what has ended it.
  private static func end(by number: Int32) -> Never {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, number)
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    signal(number, SIG_DFL)
    raise(number)
    _exit(128 + number)
  }
}

/// Notifies the service manager of the daemon's state, as sd_notify(3) describes it, if there is a service manager.
struct NotifySocket: Sendable {
  /// The interval in which the service manager expects a sign of life, or nil if it expects none.
  let watchdog: Duration?
  private let path: String?

  /// Finds the socket that the environment names.
  ///
  /// - Parameter environment: the environment variables, of which `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`
  ///   are used.
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

  /// Notifies that the daemon serves, at the start and after a reload.
  ///
  /// - Parameter status: a line for people, which `systemctl status` shows.
  func notifyReady(_ status: String) { send("READY=1\nSTATUS=\(status)") }

  /// Notifies that the daemon reloads its configuration. ``notifyReady(_:)`` follows.
  func notifyReloading() {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    let microseconds = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
  }

  /// Notifies that the daemon stops.
  func notifyStopping() { send("STOPPING=1\nSTATUS=finishing what is open") }

  /// Sends signs of life as long as all probes reply, until cancelled.
  ///
  /// - Parameter probes: closures that are called again and again. Each must call its argument soon, on a thread that
  ///   the daemon can't do without.
  func keepAlive(_ probes: [@Sendable (@escaping @Sendable () -> Void) -> Void]) async {
    guard let watchdog else { return }
    while !Task.isCancelled {
      let replies = Replies()
      for probe in probes { probe { replies.count.add(1, ordering: .relaxed) } }
      // Three times as often as needed: one that comes late does no harm.
      try? await Task.sleep(for: watchdog / 3)
      if replies.count.load(ordering: .relaxed) == probes.count { send("WATCHDOG=1") }
    }
  }

  private final class Replies: Sendable { let count = Atomic(0) }

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
    // If the manager does not listen, the daemon goes on.
    _ = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), address, length)
      }
    }
  }
}
