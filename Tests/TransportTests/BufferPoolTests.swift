internal import Testing

@testable import Transport

@Suite("Buffers that are used again") struct BufferPoolTests {
  @Test func givesTheSameMemoryAgain() {
    var pool = BufferPool(room: 1000)
    var buffer = pool.acquire()
    #expect(buffer.isEmpty && buffer.capacity >= 1000)
    buffer.append(1)
    let place = buffer.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    // Not kept here: a buffer that is shared would be emptied by a copy.
    pool.release(consume buffer)
    buffer = pool.acquire()
    #expect(buffer.isEmpty)
    #expect(buffer.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } == place)
  }

  @Test(arguments: [10, 1 << 20]) func keepsNoneOfAnotherSize(_ size: Int) {
    var pool = BufferPool(room: 1000)
    pool.release([UInt8](repeating: 1, count: size))
    let capacity = pool.acquire().capacity
    #expect(capacity >= 1000 && capacity < 1 << 20)
  }
}
