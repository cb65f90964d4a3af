/// Reads fields from bytes, one after the other.
///
/// The bytes are a whole message: missing ones are an error, not late.
public struct ByteReader: Sendable {
  @usableFromInline let bytes: ArraySlice<UInt8>
  @usableFromInline var index: Int

  /// Makes a reader that stands before the first byte.
  @inlinable public init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    index = bytes.startIndex
  }

  /// Makes a reader that stands before the first byte.
  @inlinable public init(_ bytes: [UInt8]) {
    self.init(bytes[...])
  }

  /// The number of bytes that were read.
  @inlinable public var position: Int { index - bytes.startIndex }

  /// The number of bytes that are left.
  @inlinable public var remaining: Int { bytes.endIndex - index }

  /// Reads an unsigned integer, big-endian.
  ///
  /// - Throws: `.truncated` at the field's first byte; the position then stays.
  @inlinable public mutating func read<Value: FixedWidthInteger & UnsignedInteger>(
    _: Value.Type
  ) throws(WireError) -> Value {
    let size = Value.bitWidth / 8
    guard remaining >= size else { throw WireError(.truncated, at: position) }
    var value: Value = 0
    for offset in 0..<size {
      // The first shift of a UInt8 is one by its whole width, which gives zero.
      value = value << 8 | Value(bytes[index + offset])
    }
    index += size
    return value
  }

  /// Reads bytes, without copying them.
  ///
  /// - Parameter count: the number of bytes, not negative.
  /// - Throws: `.truncated` at the field's first byte; the position then stays.
  @inlinable public mutating func read(count: Int) throws(WireError) -> ArraySlice<UInt8> {
    guard count <= remaining else { throw WireError(.truncated, at: position) }
    defer { index += count }
    return bytes[index..<index + count]
  }

  /// Ends the reading.
  ///
  /// - Throws: `.leftOver` at the first byte that was not read, if there is one.
  @inlinable public func finish() throws(WireError) {
    guard remaining == 0 else { throw WireError(.leftOver, at: position) }
  }
}

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
  /// - Parameter offset: the offset of its first byte; all of its bytes were written before.
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
  @inlinable public mutating func append<Value: FixedWidthInteger & UnsignedInteger>(
    bigEndian value: Value
  ) {
    for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: value >> Value(shift)))
    }
  }
}

/// A reason for which bytes don't have the expected form.
public struct WireError: Error, Hashable, Sendable {
  /// The kind of the error.
  public enum Reason: Hashable, Sendable {
    /// A field ends after the last byte.
    case truncated
    /// Bytes follow the last field.
    case leftOver
  }

  /// The kind of the error.
  public let reason: Reason
  /// The number of bytes before the field that is cut short, or before the first one left over.
  public let offset: Int

  /// Makes an error.
  public init(_ reason: Reason, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }
}

extension WireError: CustomStringConvertible {
  /// The reason and the place, without any of the bytes.
  public var description: String {
    switch reason {
    case .truncated: "cut short in the field at byte \(offset)"
    case .leftOver: "bytes left over from byte \(offset) on"
    }
  }
}
