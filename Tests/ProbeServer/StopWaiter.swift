import Glibc

/// Waits for a signal on a thread of its own.
final class StopWaiter: @unchecked Sendable {
  // Safe to share: both properties are set before the thread starts and only read by it.
  private let onStop: () -> Void
  private var signals = sigset_t()

  init(onStop: @escaping () -> Void) { self.onStop = onStop }

  func start(_ signals: sigset_t) {
    self.signals = signals
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        let waiter = Unmanaged<StopWaiter>.fromOpaque(context).takeRetainedValue()
        var number: Int32 = 0
        sigwait(&waiter.signals, &number)
        waiter.onStop()
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
    pthread_detach(thread)
  }
}
