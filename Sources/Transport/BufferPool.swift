/// Buffers that are used again, so that idle connections hold none.
///
/// The memory of a buffer that is freed and allocated for each response may go back to the system and come anew each time.
struct BufferPool {
  /// The room that each buffer has from the start, in bytes.
  let room: Int
  private var spare: [[UInt8]] = []

  private static let limit = 8
  /// The room above which a buffer is not kept, in bytes.
  private static let largest = 128 << 10

  init(room: Int) { self.room = room }

  /// An empty buffer.
  mutating func take() -> [UInt8] {
    if let buffer = spare.popLast() { return buffer }
    var buffer: [UInt8] = []
    buffer.reserveCapacity(room)
    return buffer
  }

  /// Takes back a buffer, whose bytes are no longer needed.
  mutating func giveBack(_ buffer: consuming [UInt8]) {
    guard spare.count < Self.limit, (room...Self.largest).contains(buffer.capacity) else { return }
    buffer.removeAll(keepingCapacity: true)
    spare.append(buffer)
  }
}
