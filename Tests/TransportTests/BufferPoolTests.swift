internal import Testing

@testable import Transport

@Suite("Buffers that are used again") struct BufferPoolTests {
  @Test func givesTheSameMemoryAgain() {
    var pool = BufferPool(room: 1000)
    var buffer = pool.take()
    #expect(buffer.isEmpty && buffer.capacity >= 1000)
    buffer.append(1)
    let place = buffer.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    // Not kept here: a buffer that is shared would be emptied by a copy.
    pool.giveBack(consume buffer)
    buffer = pool.take()
    #expect(buffer.isEmpty)
    #expect(buffer.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } == place)
  }

  @Test(arguments: [10, 1 << 20]) func keepsNoneOfAnotherSize(_ size: Int) {
    var pool = BufferPool(room: 1000)
    pool.giveBack([UInt8](repeating: 1, count: size))
    let capacity = pool.take().capacity
    #expect(capacity >= 1000 && capacity < 1 << 20)
  }
}
