internal import CUV

/// Tells when a descriptor can be read or written; touched on its loop's thread only.
@safe
package final class SocketWatch {
  /// The events that are watched for, or have come.
  package struct Events: OptionSet, Sendable {
    /// The bits as libuv numbers them.
    package let rawValue: Int32

    /// Events by their bits.
    ///
    /// - Parameter rawValue: the bits.
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The descriptor can be read.
    package static let readable = Events(rawValue: Int32(UV_READABLE.rawValue))
    /// The descriptor can be written.
    package static let writable = Events(rawValue: Int32(UV_WRITABLE.rawValue))
    /// The descriptor is broken; never watched for.
    package static let failed = Events(rawValue: 1 << 16)
  }

  private let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
  private unowned let loop: EventLoop
  private let act: (Events) -> Void

  /// Makes a watch that waits for nothing yet; ``close()`` must be called before the descriptor is closed.
  ///
  /// - Parameters:
  ///   - descriptor: a socket, which becomes non-blocking.
  ///   - loop: the loop.
  ///   - act: called with the events that came.
  /// - Returns: nil if the system can't watch the descriptor.
  package init?(_ descriptor: Int32, on loop: EventLoop, act: @escaping (Events) -> Void) {
    (self.loop, self.act) = (loop, act)
    guard unsafe uv_poll_init(loop.loop, handle, descriptor) == 0 else {
      unsafe handle.deallocate()
      return nil
    }
    // libuv holds the handle, and it the watch, until the handle is closed.
    unsafe handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
  }

  /// Waits for events from now on, in place of those before.
  ///
  /// - Parameter events: ``Events/readable``, ``Events/writable`` or both.
  package func wait(for events: Events) {
    unsafe uv_poll_start(handle, events.rawValue) { handle, status, bits in
      let watch = unsafe Unmanaged<SocketWatch>.object(of: handle?.pointee.data)
      watch.act(status < 0 ? .failed : Events(rawValue: bits))
      watch.loop.settle()
    }
  }

  /// Waits for nothing.
  package func stop() { unsafe uv_poll_stop(handle) }

  /// Stops for good and frees the handle.
  package func close() {
    unsafe uv_poll_stop(handle)
    unsafe handle.handle.closeAndReleaseOwner()
  }
}
