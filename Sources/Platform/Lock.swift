public import Glibc

/// A value that one thread at a time may touch.
///
/// It is built on `pthread_mutex_t`, which the thread sanitizer knows; values in Synchronization's `Mutex` look unprotected
/// to it. See <doc:0012-lock-over-pthread>.
///
/// What is inlinable in a type of the package is so in other modules only if the type is usable from inline code. They would
/// call shared code otherwise, which looks up types at run time: a third of a short request's time was spent so.
@safe
@usableFromInline
package struct Lock<Value: ~Copyable>: ~Copyable {
  /// The mutex, and the value behind it: neither may ever move.
  @usableFromInline let memory: UnsafeMutableRawPointer

  /// A free lock.
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

/// A value that one thread at a time may touch, and whose changes other threads can wait for.
///
/// Waiting blocks the thread: it is for threads of their own, not for tasks or event loops.
@safe
@usableFromInline
package struct Monitor<Value: ~Copyable>: ~Copyable {
  @usableFromInline let lock: Lock<Value>
  /// The condition variable, which may never move.
  @usableFromInline let condition: UnsafeMutablePointer<pthread_cond_t>

  /// Makes a monitor that nobody holds or waits for.
  package init(_ value: consuming sending Value) {
    lock = Lock(value)
    unsafe condition = .allocate(capacity: 1)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe condition.deallocate()
  }

  /// Waits until nobody else holds the monitor, and holds it during a closure.
  ///
  /// - Parameter body: uses the value. It must not use the same monitor again, nor wait for anything.
  /// - Returns: the closure's result.
  /// - Throws: the closure's error.
  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result { try lock.withLock(body) }

  /// Waits until the value is as wanted, and holds the monitor during a closure.
  ///
  /// - Parameters:
  ///   - isReady: returns whether the wait is over. It is called at first and after each wake-up, and may change the value.
  ///   - limit: the longest time to wait, or nil for no limit.
  ///   - body: uses the value, whether it is as wanted or the time is over.
  /// - Returns: the closure's result.
  package borrowing func withLock<Result: ~Copyable>(
    when isReady: (inout Value) -> Bool, within limit: Duration? = nil,
    _ body: (inout sending Value) -> sending Result
  ) -> sending Result {
    unsafe pthread_mutex_lock(lock.mutex)
    defer { unsafe pthread_mutex_unlock(lock.mutex) }
    let deadline = limit.map { timespec(fromNow: $0) }
    while unsafe !isReady(&lock.value.pointee) {
      guard var deadline else {
        unsafe pthread_cond_wait(condition, lock.mutex)
        continue
      }
      if unsafe pthread_cond_timedwait(condition, lock.mutex, &deadline) != 0 { break }
    }
    return unsafe body(&lock.value.pointee)
  }

  /// Wakes one of the threads that wait. It costs no system call if none does.
  @inlinable
  package borrowing func wakeOne() { unsafe pthread_cond_signal(condition) }

  /// Wakes all threads that wait. It costs no system call if none does.
  @inlinable
  package borrowing func wakeAll() { unsafe pthread_cond_broadcast(condition) }
}

// Safe to share: the lock guards the value, and a condition variable is made for several threads.
extension Monitor: @unchecked Sendable where Value: ~Copyable {}

extension timespec {
  fileprivate init(fromNow duration: Duration) {
    self.init()
    unsafe clock_gettime(CLOCK_MONOTONIC, &self)
    let sum = tv_nsec.addingReportingOverflow(Int(duration.nanoseconds))
    let nanoseconds = sum.overflow ? .max : sum.partialValue
    tv_sec += nanoseconds / 1_000_000_000
    tv_nsec = nanoseconds % 1_000_000_000
  }
}
