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

/// A reference that is set once, and read by many threads without a lock.
///
/// `AtomicLazyReference` promises the same, but its `load()` isn't specialized: it looks up metadata at each call. So a
/// pointer's bits are kept here.
@safe package final class LazyReference<Object: AnyObject & Sendable>: Sendable {
  /// The object's address, or zero.
  private let address = Atomic<UInt>(0)

  package init() {}

  deinit { unsafe Self.object(at: address.load(ordering: .acquiring))?.release() }

  /// The object, or nil as long as there is none.
  package var value: Object? {
    let object = unsafe Self.object(at: address.load(ordering: .acquiring))
    return unsafe object?.takeUnretainedValue()
  }

  /// Keeps an object, unless there is one already, and returns the one that is kept.
  package func keep(_ object: Object) -> Object {
    let new = unsafe Unmanaged.passRetained(object)
    let own = unsafe UInt(bitPattern: new.toOpaque())
    let (_, before) = address.compareExchange(
      expected: 0, desired: own, ordering: .acquiringAndReleasing)
    guard let kept = unsafe Self.object(at: before) else { return object }
    unsafe new.release()
    return unsafe kept.takeUnretainedValue()
  }

  private static func object(at address: UInt) -> Unmanaged<Object>? {
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    return unsafe Unmanaged.fromOpaque(pointer)
  }
}
