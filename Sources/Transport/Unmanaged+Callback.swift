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
