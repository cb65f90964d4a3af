internal import Glibc

/// A bounded queue between tasks, which never wait, and worker threads, which do.
///
/// Unchecked because the compiler cannot see that every access to the state is made under `mutex`.
@safe final class JobQueue<Job: Sendable>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let limit: Int

  // A queue of two stacks: `incoming` is turned round when `outgoing` is empty.
  private var incoming: [Job] = []
  private var outgoing: [Job] = []
  private var isClosed = false
  private var waiting = 0
  /// The number of jobs at which a waiting worker is woken.
  private var threshold = 1

  init(limit: Int) {
    self.limit = limit
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  private func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// The number of jobs that no worker has taken yet.
  var count: Int { withLock { incoming.count + outgoing.count } }

  /// Adds a job at the end.
  ///
  /// - Throws: `.busy` if the queue is full, `.closed` after ``close()``.
  func append(_ job: Job) throws(StoreError) {
    let wakes = try withLock { () throws(StoreError) in
      if isClosed { throw .closed }
      let count = incoming.count + outgoing.count
      if count >= limit { throw StoreError(.busy, "the queue of the store is full") }
      incoming.append(job)
      return waiting > 0 && count + 1 >= threshold
    }
    // One wake for a whole group: until the worker returns, `waiting` stays, but a signal to a
    // thread that is already awake costs no system call.
    if wakes { unsafe pthread_cond_signal(condition) }
  }

  /// Waits for a job, and takes those that are there from the front.
  ///
  /// - Returns: at most that many jobs; none once the queue is closed and empty.
  func take(atMost most: Int) -> [Job] {
    withLock {
      wait(for: 1, until: nil)
      return remove(atMost: most)
    }
  }

  /// Waits a short time for a number of jobs, and takes from the front what is there by then.
  ///
  /// - Parameter patience: how long to wait, in nanoseconds.
  func poll(atMost most: Int, patience: Int) -> [Job] {
    withLock {
      wait(for: most, until: timespec(fromNow: patience))
      return remove(atMost: most)
    }
  }

  private func remove(atMost most: Int) -> [Job] {
    if outgoing.isEmpty {
      outgoing = incoming.reversed()
      incoming.removeAll(keepingCapacity: true)
    }
    let taken = outgoing.suffix(most)
    outgoing.removeLast(taken.count)
    return taken.reversed()
  }

  private func wait(for wanted: Int, until deadline: timespec?) {
    threshold = wanted
    waiting += 1
    defer {
      waiting -= 1
      threshold = 1
    }
    while !isClosed, incoming.count + outgoing.count < wanted {
      guard var deadline = deadline else {
        unsafe pthread_cond_wait(condition, mutex)
        continue
      }
      if unsafe pthread_cond_timedwait(condition, mutex, &deadline) != 0 { return }
    }
  }

  /// Refuses new jobs; those that are queued can still be taken.
  func close() {
    withLock { isClosed = true }
    unsafe pthread_cond_broadcast(condition)
  }
}

extension timespec {
  /// A moment of the monotonic clock, in nanoseconds from now.
  fileprivate init(fromNow nanoseconds: Int) {
    self.init()
    unsafe clock_gettime(CLOCK_MONOTONIC, &self)
    let (seconds, rest) = (tv_nsec + nanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
    tv_sec += seconds
    tv_nsec = rest
  }
}
