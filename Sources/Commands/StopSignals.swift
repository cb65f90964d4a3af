internal import Glibc
internal import Platform

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
  static func requests() throws -> AsyncStream<Request> {
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
        } else {
          isStopping = true
          continuation.yield(.stop)
        }
      }
    }
    return stream
  }
}
