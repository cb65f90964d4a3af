internal import CUV
internal import Platform

/// A timer on an event loop; touched on the loop's thread only.
@safe
package final class LoopTimer {
  private let handle = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
  private unowned let loop: EventLoop
  private let fire: () -> Void

  /// Makes a timer that does not run yet. It lasts until ``close()``, and the loop lasts as long.
  ///
  /// - Parameters:
  ///   - loop: the loop.
  ///   - fire: called when the time is over.
  package init(on loop: EventLoop, _ fire: @escaping () -> Void) {
    (self.loop, self.fire) = (loop, fire)
    unsafe uv_timer_init(loop.loop, handle)
    // libuv holds the handle, and it the timer, until the handle is closed.
    unsafe handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
  }

  /// Fires once after some time, counted from the start of this turn; an earlier start is forgotten.
  ///
  /// - Parameter duration: the time, in whole milliseconds.
  package func start(after duration: Duration) {
    unsafe uv_timer_start(
      handle,
      { handle in
        let timer = unsafe Unmanaged<LoopTimer>.object(of: handle?.pointee.data)
        timer.fire()
        timer.loop.settle()
      }, UInt64(max(0, duration.milliseconds)), 0)
  }

  /// Forgets the start.
  package func stop() { unsafe uv_timer_stop(handle) }

  /// Stops for good and frees the handle.
  package func close() { unsafe handle.handle.closeAndReleaseOwner() }
}
