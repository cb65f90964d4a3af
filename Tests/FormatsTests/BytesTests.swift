internal import Glibc
internal import Platform
internal import Testing

@testable import Formats

/// Tests of bytes in the file that sockets send from.
@Suite(.serialized) struct BytesTests {
  private func content(of bytes: Bytes) throws -> [UInt8] {
    let place = try #require(bytes.place)
    var read = [UInt8](repeating: 0, count: bytes.count)
    #expect(pread(place.descriptor, &read, read.count, off_t(place.offset)) == read.count)
    return read
  }

  @Test(arguments: [16 << 10, 34_817, 1 << 20, (1 << 20) + 1])
  func placedBytesAreTheSameInMemoryAndInTheFile(count: Int) throws {
    let text = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 5) }
    let placed = Bytes(text).placedForSending()
    let other = Bytes(text.reversed()).placedForSending()
    #expect(placed.array == text)
    #expect(try content(of: placed) == text)
    #expect(try content(of: other) == text.reversed())
  }

  @Test(arguments: [0, 1, (16 << 10) - 1])
  func fewBytesStayWhereTheyAre(count: Int) {
    let bytes = Bytes([UInt8](repeating: 1, count: count))
    #expect(bytes.placedForSending() === bytes)
    #expect(bytes.place == nil)
  }

  @Test func theMemoryGoesWithTheBytes() throws {
    let file = try #require(MemoryFile.shared)
    func blocks() -> Int {
      var status = stat()
      fstat(file.descriptor, &status)
      return status.st_blocks
    }
    let before = blocks()
    var placed: Bytes? = Bytes([UInt8](repeating: 1, count: 8 << 20)).placedForSending()
    #expect(blocks() - before == (8 << 20) / 512)
    _ = placed?.count
    placed = nil
    #expect(blocks() == before)
  }
}
