internal import CUV

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
