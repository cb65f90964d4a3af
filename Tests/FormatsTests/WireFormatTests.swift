internal import Formats
internal import Testing

@Suite struct ByteReaderTests {
  /// Takes integers of one, two, four and eight bytes, and a number of bytes.
  @Test func takesFieldsInOrder() throws {
    var reader = ByteReader([UInt8](1...18))
    #expect(try reader.read(UInt8.self) == 0x01)
    #expect(try reader.read(UInt16.self) == 0x0203)
    #expect(try reader.read(UInt32.self) == 0x0405_0607)
    #expect(try reader.read(UInt64.self) == 0x0809_0a0b_0c0d_0e0f)
    #expect(reader.position == 15)
    #expect(try reader.read(count: 0) == [])
    #expect(try reader.read(count: 3) == [16, 17, 18])
    #expect(reader.remaining == 0)
    try reader.finish()
  }

  @Test func countsFromTheStartOfASlice() throws {
    var reader = ByteReader(([9, 9, 9, 1, 2, 3, 9] as [UInt8])[3..<6])
    #expect(reader.remaining == 3)
    #expect(try reader.read(UInt16.self) == 0x0102)
    #expect(throws: WireError(.leftOver, at: 2)) { try reader.finish() }
    #expect(throws: WireError(.truncated, at: 2)) { try reader.read(UInt16.self) }
    #expect(try reader.read(UInt8.self) == 3)
  }

  /// A field that doesn't fit is reported with its place, and leaves the reader where it was.
  @Test(arguments: [0, 1, 3, 7])
  func tellsWhereItIsCutShort(count: Int) throws {
    let bytes = [UInt8](repeating: 0xff, count: count + 1)
    var reader = ByteReader(bytes)
    _ = try reader.read(UInt8.self)
    #expect(throws: WireError(.truncated, at: 1)) { try reader.read(UInt64.self) }
    #expect(throws: WireError(.truncated, at: 1)) { try reader.read(count: count + 1) }
    #expect(throws: WireError(.truncated, at: 1)) { try reader.read(count: .max) }
    #expect(try reader.read(count: count).count == count)
    try reader.finish()
  }
}

@Suite struct ByteWriterTests {
  @Test func appendsBigEndian() {
    var writer = ByteWriter(capacity: 4)
    writer.write(UInt8(0x01))
    writer.write(UInt16(0x0203))
    writer.write(UInt32(0x0405_0607))
    writer.write(UInt64(0x0809_0a0b_0c0d_0e0f))
    writer.write([0x10])
    writer.write(([0, 0x11, 0x12, 0] as [UInt8])[1...2])
    #expect(writer.bytes == [UInt8](1...18))
  }

  @Test func overwritesInPlace() {
    var writer = ByteWriter()
    writer.write([UInt8](repeating: 0xaa, count: 6))
    writer.overwrite(UInt32(0x0102_0304), at: 1)
    #expect(writer.bytes == [0xaa, 1, 2, 3, 4, 0xaa])
  }

  /// Reads back the integers that were written.
  @Test(arguments: [0, 1, 0x7fff_ffff_ffff_ffff, 0x8000_0000_0000_0000, UInt64.max])
  func roundTrip(value: UInt64) throws {
    var writer = ByteWriter()
    writer.write(value)
    writer.write(UInt32(truncatingIfNeeded: value))
    writer.write(UInt16(truncatingIfNeeded: value))
    writer.write(UInt8(truncatingIfNeeded: value))
    var reader = ByteReader(writer.bytes)
    #expect(try reader.read(UInt64.self) == value)
    #expect(try reader.read(UInt32.self) == UInt32(truncatingIfNeeded: value))
    #expect(try reader.read(UInt16.self) == UInt16(truncatingIfNeeded: value))
    #expect(try reader.read(UInt8.self) == UInt8(truncatingIfNeeded: value))
    try reader.finish()
  }
}
