/// A cursor that takes fields from bytes, one after the other.
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

  /// The number of bytes that were taken.
  @inlinable public var position: Int { index - bytes.startIndex }

  /// The number of bytes that are left.
  @inlinable public var remaining: Int { bytes.endIndex - index }

  /// Takes an unsigned integer, big-endian.
  ///
  /// - Throws: `.truncated` at the field's first byte; then nothing is taken.
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

  /// Takes bytes, without copying them.
  ///
  /// - Parameter count: the number of bytes, not negative.
  /// - Throws: `.truncated` at the field's first byte; then nothing is taken.
  @inlinable public mutating func read(count: Int) throws(WireError) -> ArraySlice<UInt8> {
    guard count <= remaining else { throw WireError(.truncated, at: position) }
    defer { index += count }
    return bytes[index..<index + count]
  }

  /// Ends the reading.
  ///
  /// - Throws: `.leftOver` at the first byte that was not taken, if there is one.
  @inlinable public func finish() throws(WireError) {
    guard remaining == 0 else { throw WireError(.leftOver, at: position) }
  }
}
