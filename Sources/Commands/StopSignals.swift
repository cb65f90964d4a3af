internal import Dispatch
internal import Glibc

/// The signals that a daemon acts on, taken by a thread that waits for them: no code ever runs in
/// a signal handler.
enum StopSignals {
  /// What a signal asks for.
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

  /// Keeps the signals from interrupting any thread; to be called before there are others.
  static func block() {
    var set = set
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  /// The requests as they come. The second one to stop ends the process at once.
  static func requests() -> AsyncStream<Request> {
    let (stream, continuation) = AsyncStream.makeStream(of: Request.self)
    DispatchQueue(label: "signals").async {
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
