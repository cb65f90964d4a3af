internal import Testing
internal import Formats

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
