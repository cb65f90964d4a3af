internal import CUV

extension UnsafeMutablePointer {
  /// A libuv handle of any kind as its base.
  var handle: UnsafeMutablePointer<uv_handle_t> {
    unsafe UnsafeMutableRawPointer(self).assumingMemoryBound(to: uv_handle_t.self)
  }
}
