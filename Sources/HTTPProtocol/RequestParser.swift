/// Reads HTTP/1.1 requests from a stream of bytes (RFC 9112).
///
/// Strict: the faults that the RFC lets a recipient repair are refused. Total: any bytes give events or a
/// failure. Incremental: the outcome is the same however the stream is cut, because faults are
/// found in the order of the bytes.
public struct RequestParser: Sendable {
  /// The limits beyond which a request is refused.
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

  /// The meaning of the bytes.
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
    case chunkHeader(ChunkHeader)
    case chunkData(remaining: Int)
    case chunkEnd(sawReturn: Bool)
    case trailers
  }

  /// The progress of a chunked body.
  private struct Chunks: Sendable {
    /// The sizes announced, together, in bytes.
    var size = 0
    /// The number of bytes of chunk extensions.
    var extensions = 0
    /// The number of bytes of trailer fields, and of the fields.
    var trailers = 0
    var trailerCount = 0
  }

  private enum LineOutcome { case incomplete, line, end }

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
  private var lines = LineBuffer()
  private var emptyLines = 0
  /// The head before, if it had no body: clients often ask for the same again, which one comparison tells.
  private var last: RequestHead?
  private var chunks = Chunks()

  /// A parser for one connection.
  public init(limits: Limits) { self.limits = limits }

  /// True if nothing of a next request has come yet.
  public var isBetweenMessages: Bool {
    if case .requestLine = state { lines.isEmpty } else { false }
  }

  /// Reads on.
  ///
  /// - Parameters:
  ///   - input: bytes of the stream.
  ///   - offset: the position to begin at; moved past the bytes that were taken.
  /// - Returns: the meaning of the next bytes.
  /// - Throws: the reason for which the request cannot be taken; from then on the same again at every call.
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
      lines.release()
      throw error
    }
  }

  private mutating func advance(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> Event {
    while true {
      switch state {
      case .requestLine:
        if let head = unsafe repeatedHead(input, &offset) { return .head(head) }
        guard try unsafe parseRequestLine(input, &offset) else { return .incomplete }
      case .fields:
        switch try unsafe parseFieldLine(input, &offset) {
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
      case .chunkHeader(let header):
        guard try unsafe parseChunkHeader(header, input, &offset) else { return .incomplete }
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
        state = sawReturn ? .chunkHeader(ChunkHeader()) : .chunkEnd(sawReturn: true)
      case .trailers:
        switch try unsafe parseTrailerLine(input, &offset) {
        case .incomplete: return .incomplete
        case .line: continue
        case .end: return end()
        }
      }
    }
  }

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

  // MARK: Head

  private var headLimit: Int { min(limits.head, RequestHead.longest) }

  /// Forgets what came before, so that an idle connection holds none of it.
  public mutating func forget() { last = nil }

  /// Takes a head that has the same bytes as the one before.
  private mutating func repeatedHead(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) -> RequestHead? {
    guard let last, isBetweenMessages, emptyLines == 0 else { return nil }
    let end = offset + last.bytes.count
    guard end <= input.count,
      unsafe last.bytes.span.isIdentical(
        to: Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: input[offset..<end])))
    else { return nil }
    offset = end
    state = .body(remaining: 0)
    return last
  }

  private mutating func parseRequestLine(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> Bool {
    let limit = min(limits.target + RequestHeadBuilder.requestLineOverhead, headLimit)
    guard
      let line = try unsafe lines.gather(
        input, &offset, limit: limit, tooLong: RequestFailure(.uriTooLong, "request line too long"))
    else { return false }
    guard !line.isEmpty else {
      emptyLines += 1
      guard emptyLines <= Self.emptyLineLimit else { throw RequestFailure("too many empty lines") }
      lines.clear()
      return true
    }
    try builder.parseRequestLine(lines.bytes, line)
    guard builder.targetLength <= limits.target else {
      throw RequestFailure(.uriTooLong, "target too long")
    }
    lines.beginLine()
    state = .fields
    return true
  }

  private mutating func parseFieldLine(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> LineOutcome {
    guard
      let line = try unsafe lines.gather(
        input, &offset, limit: min(limits.fieldLine, headLimit - lines.lineStart),
        tooLong: RequestFailure(.headerFieldsTooLarge, "header fields too large"))
    else { return .incomplete }
    guard !line.isEmpty else { return .end }
    let field = try RequestHeadBuilder.field(lines.bytes.span, line)
    guard builder.fields.count < limits.fieldCount else {
      throw RequestFailure(.headerFieldsTooLarge, "too many header fields")
    }
    try builder.add(field, in: lines.bytes)
    lines.beginLine()
    return .line
  }

  private mutating func finishHead() throws(RequestFailure) -> RequestHead {
    let head = try builder.finish(lines.bytes)
    builder = RequestHeadBuilder()
    lines.release()
    emptyLines = 0
    last = head.framing == .none ? head : nil
    switch head.framing {
    case .none: state = .body(remaining: 0)
    case .length(let length): state = .body(remaining: length)
    case .chunked:
      state = .chunkHeader(ChunkHeader())
      chunks = Chunks()
    }
    return head
  }

  // MARK: Chunks

  private mutating func parseChunkHeader(
    _ start: ChunkHeader, _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> Bool {
    var header = start
    while offset < input.count {
      let isComplete = try unsafe header.parse(input[offset], extensions: &chunks.extensions)
      guard chunks.extensions <= limits.fieldLine else {
        throw RequestFailure("chunk extensions too long")
      }
      offset += 1
      guard isComplete else { continue }
      let (total, overflows) = chunks.size.addingReportingOverflow(header.size)
      guard !overflows, total <= bodyLimit else {
        throw RequestFailure(.contentTooLarge, "chunks above the limit")
      }
      chunks.size = total
      state = header.size > 0 ? .chunkData(remaining: header.size) : .trailers
      return true
    }
    state = .chunkHeader(header)
    return false
  }

  /// Checks trailer fields like header fields, and drops them.
  private mutating func parseTrailerLine(
    _ input: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(RequestFailure) -> LineOutcome {
    guard
      let line = try unsafe lines.gather(
        input, &offset, limit: min(limits.fieldLine, headLimit - chunks.trailers),
        tooLong: RequestFailure(.headerFieldsTooLarge, "trailer fields too large"))
    else { return .incomplete }
    guard !line.isEmpty else {
      lines.release()
      return .end
    }
    _ = try RequestHeadBuilder.field(lines.bytes.span, line)
    chunks.trailers += lines.bytes.count
    chunks.trailerCount += 1
    guard chunks.trailerCount <= limits.fieldCount else {
      throw RequestFailure(.headerFieldsTooLarge, "too many trailer fields")
    }
    lines.clear()
    return .line
  }
}

/// Reads `chunk-size [chunk-ext] CRLF` byte by byte (RFC 9112 section 7.1); extensions are dropped.
struct ChunkHeader: Sendable {
  private enum Part: Sendable { case digits, blank, extensions, lineFeed }

  /// More digits than any size needs are zeros in front, which cost nothing to send.
  private static let digitLimit = 16

  private var part = Part.digits
  private var digits = 0
  /// The size so far, in bytes.
  private(set) var size = 0

  /// Takes the next byte.
  ///
  /// - Parameters:
  ///   - byte: the byte.
  ///   - extensions: the number of bytes of extensions in all chunks of the body.
  /// - Returns: whether the line is complete.
  mutating func parse(_ byte: UInt8, extensions: inout Int) throws(RequestFailure) -> Bool {
    switch part {
    case .digits:
      if let digit = byte.hexValue {
        guard size <= Int.max >> 4 else {
          throw RequestFailure(.contentTooLarge, "chunk too large")
        }
        digits += 1
        guard digits <= Self.digitLimit else { throw RequestFailure("chunk size too long") }
        size = size << 4 | Int(digit)
        return false
      }
      guard digits > 0 else { throw RequestFailure("no chunk size") }
      if byte == 0x0d {
        part = .lineFeed
      } else {
        try parseSeparator(byte)
        extensions += 1
      }
    case .blank:
      try parseSeparator(byte)
      extensions += 1
    case .extensions:
      if byte == 0x0d {
        part = .lineFeed
      } else {
        guard byte.isFieldContent else {
          throw RequestFailure("control character in a chunk extension")
        }
        extensions += 1
      }
    case .lineFeed:
      guard byte == 0x0a else { throw RequestFailure("bare CR after a chunk size") }
      return true
    }
    return false
  }

  /// `;`, and blanks before it, which section 7.1.1 has recipients take.
  private mutating func parseSeparator(_ byte: UInt8) throws(RequestFailure) {
    guard byte == UInt8(ascii: ";") || byte.isBlank else {
      throw RequestFailure("malformed chunk size")
    }
    part = byte.isBlank ? .blank : .extensions
  }
}

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
