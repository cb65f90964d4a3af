public import Glibc

/// A value that one thread at a time may touch.
///
/// Over `pthread_mutex_t`, which the thread sanitizer knows, where it takes what Synchronization's `Mutex` protects for
/// unprotected. See <doc:0012-lock-over-pthread>.
@safe
public struct Lock<Value: ~Copyable>: ~Copyable {
  /// The mutex, and the value behind it: neither may ever move.
  @usableFromInline let memory: UnsafeMutableRawPointer

  /// A lock that nobody holds.
  ///
  /// - Parameter value: the first value.
  public init(_ value: consuming sending Value) {
    let alignment = unsafe max(
      MemoryLayout<pthread_mutex_t>.alignment, MemoryLayout<Value>.alignment)
    unsafe memory = .allocate(
      byteCount: Lock.valueOffset + MemoryLayout<Value>.size, alignment: alignment)
    unsafe pthread_mutex_init(memory.bindMemory(to: pthread_mutex_t.self, capacity: 1), nil)
    unsafe (memory + Lock.valueOffset).bindMemory(to: Value.self, capacity: 1)
      .initialize(to: value)
  }

  deinit {
    unsafe value.deinitialize(count: 1)
    unsafe pthread_mutex_destroy(mutex)
    unsafe memory.deallocate()
  }

  /// Waits until nobody else holds the lock, and holds it during a closure.
  ///
  /// - Parameter body: what to do with the value. It must not take the same lock again, nor wait for anything.
  /// - Returns: what the closure returns.
  /// - Throws: what the closure throws.
  @inlinable
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&value.pointee)
  }

  @inlinable var mutex: UnsafeMutablePointer<pthread_mutex_t> {
    unsafe memory.assumingMemoryBound(to: pthread_mutex_t.self)
  }

  @inlinable var value: UnsafeMutablePointer<Value> {
    unsafe (memory + Lock.valueOffset).assumingMemoryBound(to: Value.self)
  }

  /// Where the value lies behind the mutex.
  @inlinable static var valueOffset: Int {
    let alignment = MemoryLayout<Value>.alignment
    return unsafe (MemoryLayout<pthread_mutex_t>.size + alignment - 1) / alignment * alignment
  }
}

// Safe to share: the value is touched by the thread that holds the mutex only, and it came from, and leaves to, nobody
// who could still reach it.
extension Lock: @unchecked Sendable where Value: ~Copyable {}
