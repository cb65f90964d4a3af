internal import Glibc
internal import Synchronization

/// A thread outside the cooperative pool, which may block.
///
/// A thread whose handle is released before ``join()`` runs on by itself.
@safe package final class WorkerThread: Sendable {
  private let thread: pthread_t
  private let isJoined = Atomic(false)

  /// Starts a thread.
  ///
  /// - Parameters:
  ///   - name: the name that debuggers and `top -H` show; the system cuts it after 15 bytes.
  ///   - niceness: the degree to which the thread gives way to others, 0 (not at all) to 19.
  ///   - body: runs on the thread, with all signals left to other threads.
  /// - Throws: ``SystemError`` if the system has no room for a thread.
  package init(
    named name: String, niceness: CInt = 0, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    let start = unsafe Unmanaged.passRetained(
      Start {
        Self.rename(name)
        // Linux counts niceness by thread; a system that refuses it does no harm.
        if niceness > 0 { _ = setpriority(CInt(PRIO_PROCESS.rawValue), 0, niceness) }
        body()
      })
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
  package func join() {
    guard !isJoined.exchange(true, ordering: .relaxed) else { return }
    pthread_join(thread, nil)
  }

  /// Names the calling thread, by the file that Linux has for it: the C function is hidden from Swift.
  private static func rename(_ name: String) {
    let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    let bytes = [UInt8](name.utf8.prefix(15))
    _ = unsafe write(file, bytes, bytes.count)
    close(file)
  }

  deinit { if !isJoined.load(ordering: .relaxed) { pthread_detach(thread) } }

  /// Carries the closure to the new thread.
  private final class Start {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
