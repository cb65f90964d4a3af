/// Appends fields to bytes.
public struct ByteWriter: Sendable {
  /// What was written.
  public var bytes: [UInt8] = []

  /// A writer of nothing yet.
  ///
  /// - Parameter capacity: how many bytes to have room for at once.
  @inlinable public init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  /// Appends an unsigned integer, big-endian.
  @inlinable public mutating func write<Value: FixedWidthInteger & UnsignedInteger>(
    _ value: Value
  ) {
    for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> Value(shift)))
    }
  }

  /// Appends bytes.
  @inlinable public mutating func write(_ more: [UInt8]) {
    bytes.append(contentsOf: more)
  }

  /// Appends bytes.
  @inlinable public mutating func write(_ more: ArraySlice<UInt8>) {
    bytes.append(contentsOf: more)
  }

  /// Writes an unsigned integer, big-endian, over what stands there.
  ///
  /// - Parameter offset: of its first byte; all its bytes were written before.
  @inlinable public mutating func overwrite<Value: FixedWidthInteger & UnsignedInteger>(
    _ value: Value, at offset: Int
  ) {
    let last = Value.bitWidth / 8 - 1
    for index in 0...last {
      bytes[offset + index] = UInt8(truncatingIfNeeded: value >> Value(8 * (last - index)))
    }
  }
}
