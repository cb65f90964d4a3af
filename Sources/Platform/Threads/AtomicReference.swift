internal import Glibc
internal import Synchronization

/// A reference that many threads read without a lock while one replaces it.
///
/// A reader loads the pointer and then retains the object, and the writer must not release the object in between. So a
/// reader counts itself in for those few instructions, and after the exchange the writer waits until it has once seen
/// nobody inside; later readers find the new object. Readers never wait.
@safe package final class AtomicReference<Object: AnyObject & Sendable>: Sendable {
  private let current: Atomic<Unmanaged<Object>>
  private let readers = Atomic<Int>(0)

  /// Makes a reference to an object.
  package init(_ object: Object) { unsafe current = Atomic(Unmanaged.passRetained(object)) }

  deinit { unsafe current.load(ordering: .acquiring).release() }

  /// The present object, retained for the caller.
  package var value: Object {
    readers.add(1, ordering: .sequentiallyConsistent)
    let object = unsafe current.load(ordering: .sequentiallyConsistent).takeUnretainedValue()
    readers.subtract(1, ordering: .sequentiallyConsistent)
    return object
  }

  /// Replaces the object, and returns once only earlier readers still hold the old one.
  package func replace(with object: Object) {
    let old = unsafe current.exchange(
      Unmanaged.passRetained(object), ordering: .sequentiallyConsistent)
    while readers.load(ordering: .sequentiallyConsistent) != 0 { sched_yield() }
    unsafe old.release()
  }
}
