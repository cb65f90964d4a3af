internal import CUV

/// Buffers that are used again, so that idle connections hold none.
///
/// The memory of a buffer that is freed and allocated for each response may go back to the system and come anew each time.
struct BufferPool {
  /// The room that each buffer has from the start, in bytes.
  let room: Int
  private var spare: [[UInt8]] = []

  private static let limit = 8
  /// The room above which a buffer is not kept, in bytes.
  private static let largest = 128 << 10

  init(room: Int) { self.room = room }

  /// An empty buffer.
  mutating func acquire() -> [UInt8] {
    if let buffer = spare.popLast() { return buffer }
    var buffer: [UInt8] = []
    buffer.reserveCapacity(room)
    return buffer
  }

  /// Takes back a buffer, whose bytes are no longer needed.
  mutating func release(_ buffer: consuming [UInt8]) {
    guard spare.count < Self.limit, (room...Self.largest).contains(buffer.capacity) else { return }
    buffer.removeAll(keepingCapacity: true)
    spare.append(buffer)
  }
}

extension UnsafeMutablePointer {
  /// A libuv handle of any kind as its base.
  var handle: UnsafeMutablePointer<uv_handle_t> {
    unsafe UnsafeMutableRawPointer(self).assumingMemoryBound(to: uv_handle_t.self)
  }
}

extension UnsafeMutablePointer<uv_handle_t> {
  /// Closes a handle whose data is a retained reference to its owner, and lets go of both.
  func closeAndReleaseOwner() {
    unsafe uv_close(self) { handle in
      guard let handle = unsafe handle, let owner = unsafe handle.pointee.data else { return }
      unsafe UnsafeMutableRawPointer(handle).deallocate()
      unsafe Unmanaged<AnyObject>.fromOpaque(owner).release()
    }
  }
}

extension Unmanaged {
  /// The object that a C library was given for its callbacks.
  ///
  /// - Parameter data: the object as the callback gets it; its owner keeps it alive until the last callback.
  @inlinable
  package static func object(of data: UnsafeMutableRawPointer?) -> Instance {
    guard let data = unsafe data else { preconditionFailure("a callback without its object") }
    return unsafe fromOpaque(data).takeUnretainedValue()
  }
}
