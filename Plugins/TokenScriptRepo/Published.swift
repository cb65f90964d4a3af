internal import Glibc
internal import Synchronization

/// A reference that many threads read without a lock while one replaces it.
///
/// The danger of such a cell is the moment between a reader's load of the pointer and its retain:
/// the writer must not release what it took out before then. So a reader counts itself in for
/// those few instructions, and the writer waits, after the exchange, until it once sees nobody
/// inside; whoever comes later finds the new value. Readers never wait.
@safe final class Published<Value: AnyObject & Sendable>: Sendable {
  private let current: Atomic<Unmanaged<Value>>
  private let readers = Atomic<Int>(0)

  /// A cell that holds a value.
  ///
  /// - Parameter value: what readers find until it is replaced.
  init(_ value: Value) {
    unsafe current = Atomic(Unmanaged.passRetained(value))
  }

  deinit { unsafe current.load(ordering: .acquiring).release() }

  /// The value of this moment, retained for the caller.
  var value: Value {
    readers.add(1, ordering: .sequentiallyConsistent)
    let value = unsafe current.load(ordering: .sequentiallyConsistent).takeUnretainedValue()
    readers.subtract(1, ordering: .sequentiallyConsistent)
    return value
  }

  /// Replaces the value; returns when the old one is no longer in anybody's hands but its readers'.
  ///
  /// - Parameter value: what readers find from now on.
  func replace(with value: Value) {
    let old = unsafe current.exchange(
      Unmanaged.passRetained(value), ordering: .sequentiallyConsistent)
    while readers.load(ordering: .sequentiallyConsistent) != 0 { sched_yield() }
    unsafe old.release()
  }
}
