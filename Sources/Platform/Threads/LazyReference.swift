internal import Synchronization

/// A reference that is set once, and read by many threads without a lock.
///
/// `AtomicLazyReference` promises the same, but its `load()` isn't specialized: it looks up metadata at each call. So a
/// pointer's bits are kept here.
@safe package final class LazyReference<Object: AnyObject & Sendable>: Sendable {
  /// The object's address, or zero.
  private let address = Atomic<UInt>(0)

  /// Makes a reference to nothing.
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
