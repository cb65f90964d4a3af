/// Gathers lines that end in CR LF, and finds control characters in them as they come.
struct LineBuffer: Sendable {
  /// All lines since the last ``clear()`` or ``release()``, their ends included.
  private(set) var bytes: [UInt8] = []
  /// The position at which the current line begins.
  private(set) var lineStart = 0
  private var sawReturn = false

  /// True if nothing has come since the last ``clear()`` or ``release()``.
  var isEmpty: Bool { bytes.isEmpty }

  /// Moves bytes of a line here, up to its CR LF.
  ///
  /// - Parameters:
  ///   - input: bytes of the stream.
  ///   - offset: the position to begin at; moved past the bytes that were taken.
  ///   - limit: the longest line, CR LF included.
  ///   - tooLong: thrown as soon as the line is longer.
  /// - Returns: the line without CR LF, once it is complete.
  mutating func gather(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int, limit: Int,
    tooLong: @autoclosure () -> RequestFailure
  ) throws(RequestFailure) -> Range<Int>? {
    let room = limit - (bytes.count - lineStart)
    let end = offset + min(max(room, 0), input.count - offset)
    var index = offset
    while true {
      if sawReturn, index < end {
        guard unsafe input[index] == 0x0a else { throw RequestFailure("bare CR") }
        sawReturn = false
        unsafe store(input, offset..<index + 1)
        offset = index + 1
        return lineStart..<bytes.count - 2
      }
      index = unsafe ByteScan.firstControl(in: input, from: index, to: end)
      guard index < end else { break }
      switch unsafe input[index] {
      case 0x09: break
      case 0x0d: sawReturn = true
      case 0x0a: throw RequestFailure("bare LF")
      default: throw RequestFailure("control character in a line")
      }
      index += 1
    }
    unsafe store(input, offset..<end)
    offset = end
    guard bytes.count - lineStart < limit else { throw tooLong() }
    return nil
  }

  private mutating func store(_ input: UnsafeRawBufferPointer, _ range: Range<Int>) {
    guard !range.isEmpty else { return }
    // One allocation for nearly every head, and none that a length field could ask for.
    if bytes.capacity == 0 { bytes.reserveCapacity(480) }
    unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: input[range]))
  }

  /// Keeps the current line and begins the next one.
  mutating func beginLine() { lineStart = bytes.count }

  /// Drops all lines.
  mutating func clear() {
    bytes.removeAll(keepingCapacity: true)
    lineStart = 0
  }

  /// Drops all lines and the memory.
  mutating func release() { self = LineBuffer() }
}
