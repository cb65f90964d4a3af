/// Immutable bytes at an address that stays, shared by reference, so that sockets are written from them without a copy.
@safe public final class Bytes: @unchecked Sendable {
  // Safe to share: nothing writes to the memory after `init`, and it lives as long as the object.
  private let storage: UnsafeMutableRawBufferPointer

  /// Copies bytes.
  ///
  /// - Parameter source: any contiguous or other collection; an empty one is fine.
  public init(_ source: some Collection<UInt8>) {
    let count = source.count
    unsafe storage = .allocate(byteCount: max(count, 1), alignment: 16)
    unsafe storage.copyBytes(from: source)
    self.count = count
  }

  deinit { unsafe storage.deallocate() }

  /// The number of bytes.
  public let count: Int

  /// The memory itself; valid as long as this object is retained.
  public var buffer: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: storage.baseAddress, count: count)
  }

  /// A copy as an array.
  public var array: [UInt8] { unsafe Array(buffer) }
}
