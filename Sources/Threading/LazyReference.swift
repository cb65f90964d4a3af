internal import Synchronization

/// A reference that is set once, and read by many threads without a lock.
///
/// `AtomicLazyReference` promises the same, but its `load()` isn't specialized: it looks up metadata at each call, which
/// costs some 600 instructions.
@safe public final class LazyReference<Object: AnyObject & Sendable>: Sendable {
  private let stored: Atomic<Unmanaged<Object>?>

  /// Makes a reference to nothing.
  public init() { unsafe stored = Atomic(nil) }

  deinit { unsafe stored.load(ordering: .acquiring)?.release() }

  /// The object, or nil as long as there is none.
  public var value: Object? {
    guard let object = unsafe stored.load(ordering: .acquiring) else { return nil }
    return unsafe object.takeUnretainedValue()
  }

  /// Keeps an object, unless there is one already, and returns the one that is kept.
  public func keep(_ object: Object) -> Object {
    let new = unsafe Unmanaged.passRetained(object)
    let (_, kept) = unsafe stored.compareExchange(
      expected: nil, desired: new, ordering: .acquiringAndReleasing)
    guard let kept = unsafe kept else { return object }
    unsafe new.release()
    return unsafe kept.takeUnretainedValue()
  }
}
