package import Glibc

/// A value that one thread at a time may touch.
///
/// It stands on `pthread_mutex_t`, which the thread sanitizer knows; it takes values in Synchronization's `Mutex` for
/// unprotected. See <doc:0012-lock-over-pthread>.
@safe
package struct Lock<Value: ~Copyable>: ~Copyable {
  /// The mutex, and the value behind it: neither may ever move.
  @usableFromInline let memory: UnsafeMutableRawPointer

  /// A free lock.
  ///
  /// - Parameter value: the first value.
  package init(_ value: consuming sending Value) {
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

  /// Waits until the lock is free, and holds it during a closure.
  ///
  /// - Parameter body: the critical section. It must not take the same lock again, nor wait for anything.
  /// - Returns: the closure's result.
  /// - Throws: the closure's error.
  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
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

  /// The offset of the value behind the mutex, in bytes.
  @inlinable static var valueOffset: Int {
    let alignment = MemoryLayout<Value>.alignment
    return unsafe (MemoryLayout<pthread_mutex_t>.size + alignment - 1) / alignment * alignment
  }
}

// Safe to share: the value is touched only by the thread that holds the mutex, and it comes from and leaves to code that
// cannot reach it otherwise.
extension Lock: @unchecked Sendable where Value: ~Copyable {}
