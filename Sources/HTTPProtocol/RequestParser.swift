/// Reads HTTP/1.1 requests from a stream of bytes (RFC 9112).
///
/// Strict: what the RFC lets a recipient repair is refused. Total: any bytes give events or a
/// failure. Incremental: the outcome is the same however the stream is cut, because faults are
/// found in the order of the bytes.
public struct RequestParser: Sendable {
  /// How much of a request is taken before it is refused.
  public struct Limits: Sendable {
    /// The longest target, in bytes; beyond: 414.
    public var target = 8 << 10
    /// The longest field line with its CR LF, and all chunk extensions of a body, in bytes.
    public var fieldLine = 8 << 10
    /// Request line and fields together, in bytes, at most 65,535; beyond: 431.
    public var head = 16 << 10
    /// The number of fields, and of trailer fields; beyond: 431.
    public var fieldCount = 100

    /// The default limits.
    public init() {}
  }

  /// What the bytes amount to.
  public enum Event: Sendable {
    /// All input was taken; more is needed.
    case incomplete
    /// The head of a request.
    case head(RequestHead)
    /// A run of body bytes, as positions in the input.
    case body(Range<Int>)
    /// The request is complete: after its body, or right after its head if it has none.
    case end
  }

  private enum State: Sendable {
    case requestLine, fields
    case body(remaining: Int)
    case chunkSize(ChunkSize)
    case chunkData(remaining: Int)
    case chunkEnd(sawReturn: Bool)
    case trailers
  }

  private struct ChunkSize: Sendable {
    enum Part: Sendable { case digits, blank, extensions, lineFeed }
    var part = Part.digits
    var size = 0
    var hasDigits = false
  }

  /// Empty lines that are skipped before a request line (RFC 9112 section 2.2 asks for one).
  private static let emptyLineLimit = 8

  /// The most body bytes that are wanted; beyond, in `Content-Length` or the chunks together: 413.
  ///
  /// To be set after ``Event/head(_:)``; every request begins without a limit.
  public var bodyLimit = Int.max

  private let limits: Limits
  private var state = State.requestLine
  private var failure: RequestFailure?
  private var builder = RequestHeadBuilder()
  /// The head so far, or the trailer line so far.
  private var buffer: [UInt8] = []
  private var lineStart = 0
  private var sawReturn = false
  private var emptyLines = 0
  /// Bytes of the chunks that were announced, of chunk extensions, and of the trailer section.
  private var chunked = 0
  private var extensions = 0
  private var trailerBytes = 0
  private var trailerCount = 0

  /// A parser for one connection.
  ///
  /// - Parameter limits: how much of a request is taken.
  public init(limits: Limits) {
    self.limits = limits
  }

  /// Whether nothing of a next request has come yet.
  public var isBetweenMessages: Bool {
    if case .requestLine = state { buffer.isEmpty } else { false }
  }

  /// Reads on.
  ///
  /// - Parameters:
  ///   - input: bytes of the stream.
  ///   - offset: where to begin; moved past what was taken.
  /// - Returns: what the bytes amount to.
  /// - Throws: why the request cannot be taken; from then on the same again at every call.
  public mutating func next(
    _ input: RawSpan, from offset: inout Int
  ) throws(RequestFailure) -> Event {
    if let failure { throw failure }
    do throws(RequestFailure) {
      return try unsafe input.withUnsafeBytes { bytes throws(RequestFailure) in
        try unsafe advance(bytes, &offset)
      }
    } catch {
      failure = error
      buffer = []
      throw error
    }
  }

  private mutating func advance(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> Event {
    while true {
      switch state {
      case .requestLine:
        guard try unsafe takeRequestLine(input, &offset) else { return .incomplete }
      case .fields:
        switch try unsafe takeFieldLine(input, &offset) {
        case .incomplete: return .incomplete
        case .line: continue
        case .end: return .head(try finishHead())
        }
      case .body(let remaining):
        guard remaining > 0 else { return end() }
        guard remaining <= bodyLimit else {
          throw RequestFailure(.contentTooLarge, "Content-Length above the limit")
        }
        guard let run = unsafe run(of: remaining, in: input, &offset) else { return .incomplete }
        state = .body(remaining: remaining - run.count)
        return .body(run)
      case .chunkSize(let size):
        guard try unsafe takeChunkSize(size, input, &offset) else { return .incomplete }
      case .chunkData(let remaining):
        guard let run = unsafe run(of: remaining, in: input, &offset) else { return .incomplete }
        let left = remaining - run.count
        state = left > 0 ? .chunkData(remaining: left) : .chunkEnd(sawReturn: false)
        return .body(run)
      case .chunkEnd(let sawReturn):
        guard offset < input.count else { return .incomplete }
        guard unsafe input[offset] == (sawReturn ? 0x0a : 0x0d) else {
          throw RequestFailure("no line end after a chunk")
        }
        offset += 1
        state = sawReturn ? .chunkSize(ChunkSize()) : .chunkEnd(sawReturn: true)
      case .trailers:
        switch try unsafe takeTrailerLine(input, &offset) {
        case .incomplete: return .incomplete
        case .line: continue
        case .end: return end()
        }
      }
    }
  }

  private enum LineOutcome { case incomplete, line, end }

  private mutating func end() -> Event {
    state = .requestLine
    bodyLimit = .max
    return .end
  }

  private func run(
    of length: Int, in input: UnsafeRawBufferPointer, _ offset: inout Int
  ) -> Range<Int>? {
    let end = offset + min(length, input.count - offset)
    guard offset < end else { return nil }
    defer { offset = end }
    return offset..<end
  }

  // MARK: Lines

  /// Moves bytes of a line into ``buffer``, up to its CR LF.
  ///
  /// - Parameters:
  ///   - limit: the longest line, CR LF included.
  ///   - tooLong: thrown as soon as the line is longer.
  /// - Returns: whether the line is complete.
  private mutating func takeLine(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int, limit: Int,
    tooLong: @autoclosure () -> RequestFailure
  ) throws(RequestFailure) -> Bool {
    let room = limit - (buffer.count - lineStart)
    let end = offset + min(max(room, 0), input.count - offset)
    var index = offset
    while true {
      if sawReturn, index < end {
        guard unsafe input[index] == 0x0a else { throw RequestFailure("bare CR") }
        sawReturn = false
        unsafe store(input[offset...index])
        offset = index + 1
        return true
      }
      index = unsafe ControlScan.first(in: input, from: index, to: end)
      guard index < end else { break }
      switch unsafe input[index] {
      case 0x09: break
      case 0x0d: sawReturn = true
      case 0x0a: throw RequestFailure("bare LF")
      default: throw RequestFailure("control character in the head")
      }
      index += 1
    }
    if offset < end { unsafe store(input[offset..<end]) }
    offset = end
    guard buffer.count - lineStart < limit else { throw tooLong() }
    return false
  }

  private mutating func store(_ bytes: Slice<UnsafeRawBufferPointer>) {
    // One allocation for nearly every head, and none that a length field could ask for.
    if buffer.capacity == 0 { buffer.reserveCapacity(480) }
    unsafe buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes))
  }

  private var line: Range<Int> { lineStart..<buffer.count - 2 }

  private mutating func takeRequestLine(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> Bool {
    let limit = min(limits.target + RequestHeadBuilder.requestLineOverhead, headLimit)
    guard
      try unsafe takeLine(
        input, &offset, limit: limit, tooLong: RequestFailure(.uriTooLong, "request line too long"))
    else { return false }
    let line = line
    guard !line.isEmpty else {
      emptyLines += 1
      guard emptyLines <= Self.emptyLineLimit else { throw RequestFailure("too many empty lines") }
      buffer.removeAll(keepingCapacity: true)
      return true
    }
    try builder.takeRequestLine(buffer, line)
    guard builder.targetLength <= limits.target else {
      throw RequestFailure(.uriTooLong, "target too long")
    }
    lineStart = buffer.count
    state = .fields
    return true
  }

  private var headLimit: Int { min(limits.head, RequestHead.longest) }

  private mutating func takeFieldLine(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> LineOutcome {
    guard
      try unsafe takeLine(
        input, &offset, limit: min(limits.fieldLine, headLimit - lineStart),
        tooLong: RequestFailure(.headerFieldsTooLarge, "header fields too large"))
    else { return .incomplete }
    let line = line
    guard !line.isEmpty else { return .end }
    let field = try RequestHeadBuilder.field(buffer.span, line)
    guard builder.fields.count < limits.fieldCount else {
      throw RequestFailure(.headerFieldsTooLarge, "too many header fields")
    }
    try builder.take(field, in: buffer)
    lineStart = buffer.count
    return .line
  }

  private mutating func finishHead() throws(RequestFailure) -> RequestHead {
    let head = try builder.finish(buffer)
    builder = RequestHeadBuilder()
    buffer = []
    lineStart = 0
    emptyLines = 0
    switch head.framing {
    case .none: state = .body(remaining: 0)
    case .length(let length): state = .body(remaining: length)
    case .chunked:
      state = .chunkSize(ChunkSize())
      chunked = 0
      extensions = 0
      trailerBytes = 0
      trailerCount = 0
    }
    return head
  }

  // MARK: Chunks

  /// Reads `chunk-size [chunk-ext] CRLF` (RFC 9112 section 7.1); extensions are dropped.
  private mutating func takeChunkSize(
    _ start: ChunkSize, _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> Bool {
    var line = start
    while offset < input.count {
      let byte = unsafe input[offset]
      offset += 1
      switch line.part {
      case .digits:
        if let digit = byte.hexValue {
          guard line.size <= Int.max >> 4 else {
            throw RequestFailure(.contentTooLarge, "chunk too large")
          }
          line.size = line.size << 4 | Int(digit)
          line.hasDigits = true
          continue
        }
        guard line.hasDigits else { throw RequestFailure("no chunk size") }
        try takeExtensionByte(byte, &line)
      case .blank:
        try takeExtensionByte(byte, &line)
      case .extensions:
        guard byte != 0x0d else {
          line.part = .lineFeed
          continue
        }
        guard byte >= 0x20 && byte != 0x7f || byte == 0x09 else {
          throw RequestFailure("control character in a chunk extension")
        }
        try countExtensionByte()
      case .lineFeed:
        guard byte == 0x0a else { throw RequestFailure("bare CR in a chunk size line") }
        return try startChunk(line.size)
      }
    }
    state = .chunkSize(line)
    return false
  }

  /// Takes what may follow the digits: blanks before `;`, the extensions, or the line's end.
  private mutating func takeExtensionByte(
    _ byte: UInt8, _ line: inout ChunkSize
  ) throws(RequestFailure) {
    switch byte {
    case UInt8(ascii: ";"): line.part = .extensions
    case 0x20, 0x09: line.part = .blank
    case 0x0d where line.part == .digits:
      line.part = .lineFeed
      return
    default: throw RequestFailure("malformed chunk size")
    }
    try countExtensionByte()
  }

  private mutating func countExtensionByte() throws(RequestFailure) {
    extensions += 1
    guard extensions <= limits.fieldLine else { throw RequestFailure("chunk extensions too long") }
  }

  private mutating func startChunk(_ size: Int) throws(RequestFailure) -> Bool {
    let (total, overflows) = chunked.addingReportingOverflow(size)
    guard !overflows, total <= bodyLimit else {
      throw RequestFailure(.contentTooLarge, "chunks above the limit")
    }
    chunked = total
    state = size > 0 ? .chunkData(remaining: size) : .trailers
    return true
  }

  /// Checks trailer fields like header fields, and drops them.
  private mutating func takeTrailerLine(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> LineOutcome {
    guard
      try unsafe takeLine(
        input, &offset, limit: min(limits.fieldLine, headLimit - trailerBytes),
        tooLong: RequestFailure(.headerFieldsTooLarge, "trailer fields too large"))
    else { return .incomplete }
    defer { buffer = [] }
    guard !line.isEmpty else { return .end }
    _ = try RequestHeadBuilder.field(buffer.span, line)
    trailerBytes += buffer.count
    trailerCount += 1
    guard trailerCount <= limits.fieldCount else {
      throw RequestFailure(.headerFieldsTooLarge, "too many trailer fields")
    }
    return .line
  }
}
