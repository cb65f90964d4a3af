internal import CCurl
internal import CUV

/// Tells libcurl when one of its sockets can be read or written.
@safe final class SocketWatch {
  private let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
  private let act: (Int32) -> Void

  /// Begins to watch; ``close()`` must be called before the socket is closed.
  ///
  /// - Parameters:
  ///   - socket: a socket of libcurl.
  ///   - loop: the loop of the calling thread.
  ///   - act: called with the events, in libcurl's bits.
  /// - Returns: nil if the system can't watch it.
  init?(
    _ socket: curl_socket_t, on loop: UnsafeMutablePointer<uv_loop_t>,
    act: @escaping (Int32) -> Void
  ) {
    self.act = act
    guard unsafe uv_poll_init(loop, handle, socket) == 0 else {
      unsafe handle.deallocate()
      return nil
    }
    // libuv holds the handle, and it the watch, until the handle is closed.
    unsafe handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
  }

  /// Waits for events from now on.
  ///
  /// - Parameter what: `CURL_POLL_IN`, `CURL_POLL_OUT` or `CURL_POLL_INOUT`.
  func wait(for what: Int32) {
    var events: Int32 = 0
    if what & CURL_POLL_IN != 0 { events |= Int32(UV_READABLE.rawValue) }
    if what & CURL_POLL_OUT != 0 { events |= Int32(UV_WRITABLE.rawValue) }
    unsafe uv_poll_start(handle, events) { handle, status, events in
      guard let data = unsafe handle?.pointee.data else { return }
      var bits: Int32 = status < 0 ? CURL_CSELECT_ERR : 0
      if events & Int32(UV_READABLE.rawValue) != 0 { bits |= CURL_CSELECT_IN }
      if events & Int32(UV_WRITABLE.rawValue) != 0 { bits |= CURL_CSELECT_OUT }
      unsafe Unmanaged<SocketWatch>.fromOpaque(data).takeUnretainedValue().act(bits)
    }
  }

  /// Watches no longer, and frees the handle.
  func close() {
    unsafe uv_poll_stop(handle)
    let base = unsafe UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
    unsafe uv_close(base) { base in
      guard let base = unsafe base, let data = unsafe base.pointee.data else { return }
      unsafe UnsafeMutableRawPointer(base).assumingMemoryBound(to: uv_poll_t.self).deallocate()
      unsafe Unmanaged<SocketWatch>.fromOpaque(data).release()
    }
  }
}
