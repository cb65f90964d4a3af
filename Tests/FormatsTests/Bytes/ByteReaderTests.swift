internal import Testing
internal import Formats

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
