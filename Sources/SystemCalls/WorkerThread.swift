internal import Glibc
internal import Synchronization

/// A thread outside the cooperative pool, which may block.
///
/// Who lets go of it without waiting for its end leaves it running.
@safe public final class WorkerThread: Sendable {
  private let thread: pthread_t
  private let isJoined = Atomic(false)

  /// Starts a thread.
  ///
  /// - Parameter body: what it does, with all signals left to other threads.
  /// - Throws: ``SystemError`` without room for a thread.
  public init(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let start = unsafe Unmanaged.passRetained(Start(body))
    var everySignal = sigset_t()
    var previous = sigset_t()
    unsafe sigfillset(&everySignal)
    unsafe pthread_sigmask(SIG_SETMASK, &everySignal, &previous)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }
    var thread = pthread_t()
    let result = unsafe pthread_create(
      &thread, nil,
      { argument in
        if let argument = unsafe argument {
          unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
        }
        return nil
      }, start.toOpaque())
    guard result == 0 else {
      unsafe start.release()
      throw SystemError(result)
    }
    self.thread = thread
  }

  /// Waits for the thread's end.
  public func join() {
    guard !isJoined.exchange(true, ordering: .relaxed) else { return }
    pthread_join(thread, nil)
  }

  deinit {
    if !isJoined.load(ordering: .relaxed) { pthread_detach(thread) }
  }

  /// What the new thread is given.
  private final class Start {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
