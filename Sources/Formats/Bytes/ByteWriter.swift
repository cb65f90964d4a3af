/// A message to which fields are appended.
public struct ByteWriter: Sendable {
  /// The bytes that were written.
  public var bytes: [UInt8] = []

  /// Makes an empty message.
  ///
  /// - Parameter capacity: the number of bytes for which there is room at once.
  @inlinable public init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  /// Appends an unsigned integer, big-endian.
  @inlinable public mutating func write<Value: FixedWidthInteger & UnsignedInteger>(
    _ value: Value
  ) {
    bytes.append(bigEndian: value)
  }

  /// Appends bytes.
  @inlinable public mutating func write(_ more: some Collection<UInt8>) {
    bytes.append(contentsOf: more)
  }

  /// Overwrites bytes with an unsigned integer, big-endian.
  ///
  /// - Parameters:
  ///   - value: the integer.
  ///   - offset: the offset of its first byte; all of its bytes were written before.
  @inlinable public mutating func overwrite<Value: FixedWidthInteger & UnsignedInteger>(
    _ value: Value, at offset: Int
  ) {
    let last = Value.bitWidth / 8 - 1
    for index in 0...last {
      bytes[offset + index] = UInt8(truncatingIfNeeded: value >> Value(8 * (last - index)))
    }
  }
}

extension [UInt8] {
  /// Appends an unsigned integer, big-endian.
  ///
  /// - Parameter value: the integer.
  @inlinable public mutating func append<Value: FixedWidthInteger & UnsignedInteger>(
    bigEndian value: Value
  ) {
    for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: value >> Value(shift)))
    }
  }
}
