internal import CUV

/// Tells when a descriptor can be read or written; touched on its loop's thread only.
@safe
public final class SocketWatch {
  /// The events that are watched for, or have come.
  public struct Events: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Events by their bits.
    ///
    /// - Parameter rawValue: the bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The descriptor can be read.
    public static let readable = Events(rawValue: 1)
    /// The descriptor can be written.
    public static let writable = Events(rawValue: 2)
    /// The descriptor is broken; never watched for.
    public static let failed = Events(rawValue: 4)
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
  public init?(_ descriptor: Int32, on loop: EventLoop, act: @escaping (Events) -> Void) {
    self.loop = loop
    self.act = act
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
  public func wait(for events: Events) {
    var bits: Int32 = 0
    if events.contains(.readable) { bits |= Int32(UV_READABLE.rawValue) }
    if events.contains(.writable) { bits |= Int32(UV_WRITABLE.rawValue) }
    unsafe uv_poll_start(handle, bits) { handle, status, bits in
      guard let data = unsafe handle?.pointee.data else { return }
      var events: Events = status < 0 ? .failed : []
      if bits & Int32(UV_READABLE.rawValue) != 0 { events.insert(.readable) }
      if bits & Int32(UV_WRITABLE.rawValue) != 0 { events.insert(.writable) }
      let watch = unsafe Unmanaged<SocketWatch>.fromOpaque(data).takeUnretainedValue()
      watch.act(events)
      watch.loop.settle()
    }
  }

  /// Waits for nothing.
  public func stop() { unsafe uv_poll_stop(handle) }

  /// Stops for good and frees the handle.
  public func close() {
    unsafe uv_poll_stop(handle)
    unsafe uv_close(handle.handle) { handle in
      guard let handle = unsafe handle, let data = unsafe handle.pointee.data else { return }
      unsafe UnsafeMutableRawPointer(handle).deallocate()
      unsafe Unmanaged<SocketWatch>.fromOpaque(data).release()
    }
  }
}
