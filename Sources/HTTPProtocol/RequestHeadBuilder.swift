/// Gathers a request head line by line and checks it as a whole: what HTTP/1.1 and HTTP/2 share.
///
/// Positions are those of the head's bytes, which the caller keeps and hands over at the end.
struct RequestHeadBuilder: Sendable {
  private var method = Method.get
  private var version = RequestHead.Version.http11
  private var target = 0..<0
  private var path = 0..<0
  private var query: Range<Int>?
  /// The authority of an absolute target, which replaces `Host` (RFC 9112 section 3.2.2).
  private var targetAuthority: Authorities?
  private var hostField: Authorities?
  private var contentLength: Int?
  private var isChunked = false
  private var saysClose = false
  private var saysKeepAlive = false
  private var saysContinue = false
  private(set) var fields: [RequestHead.Field] = []

  /// The length of the target, in bytes.
  var targetLength: Int { target.count }

  private struct Authorities {
    var whole: Range<Int>
    var host: Range<Int>
  }

  /// The longest method taken, in bytes; RFC 9110 section 15.6.2 has 501 for longer ones.
  static let longestMethod = 24
  /// The length of a request line beside its target, in bytes.
  static let requestLineOverhead = longestMethod + " HTTP/1.1\r\n".utf8.count + 1

  // MARK: Request line

  /// Takes a request line (RFC 9112 section 3).
  ///
  /// - Parameter line: the line without CR LF.
  mutating func parseRequestLine(_ head: [UInt8], _ line: Range<Int>) throws(RequestFailure) {
    let bytes = head.span
    let methodEnd = bytes.end(of: .token, in: line)
    guard methodEnd > line.lowerBound, methodEnd < line.upperBound, bytes[methodEnd] == 0x20 else {
      throw RequestFailure("malformed method")
    }
    let (targetEnd, question) = Self.targetEnd(bytes, methodEnd + 1..<line.upperBound)
    guard targetEnd < line.upperBound, bytes[targetEnd] == 0x20 else {
      throw RequestFailure("malformed target")
    }
    try parseVersion(bytes, targetEnd + 1..<line.upperBound)
    guard methodEnd - line.lowerBound <= Self.longestMethod else {
      throw RequestFailure(.notImplemented, "method too long")
    }
    method = Method(head[line.lowerBound..<methodEnd])
    guard method != .connect else { throw RequestFailure(.notImplemented, "CONNECT") }
    try parseTarget(bytes, methodEnd + 1..<targetEnd, question)
  }

  /// Finds where a target ends that begins at the start of a part, and the first `?` in it.
  private static func targetEnd(
    _ bytes: Span<UInt8>, _ range: Range<Int>
  ) -> (end: Int, question: Int?) {
    unsafe bytes.withUnsafeBytes { raw in
      let stop = unsafe ByteScan.firstTargetStop(
        in: raw, from: range.lowerBound, to: range.upperBound)
      guard stop < range.upperBound, unsafe raw[stop] == UInt8(ascii: "?") else {
        return (stop, nil)
      }
      let end = unsafe ByteScan.firstQueryStop(in: raw, from: stop + 1, to: range.upperBound)
      return (end, stop)
    }
  }

  /// `HTTP/1.0` or a later 1.x, which is served as 1.1 (RFC 9110 section 2.5).
  private mutating func parseVersion(
    _ bytes: Span<UInt8>, _ range: Range<Int>
  ) throws(RequestFailure) {
    let start = range.lowerBound
    guard range.count == 8, bytes[start] == UInt8(ascii: "H"),
      bytes[start + 1] == UInt8(ascii: "T"), bytes[start + 2] == UInt8(ascii: "T"),
      bytes[start + 3] == UInt8(ascii: "P"), bytes[start + 4] == UInt8(ascii: "/"),
      let major = bytes[start + 5].digitValue, bytes[start + 6] == UInt8(ascii: "."),
      let minor = bytes[start + 7].digitValue
    else { throw RequestFailure("malformed version") }
    guard major == 1 else { throw RequestFailure(.versionNotSupported, "not HTTP/1") }
    version = minor == 0 ? .http10 : .http11
  }

  /// Takes a target, known to have no forbidden byte, in origin, absolute or asterisk form (RFC 9112 section 3.2).
  private mutating func parseTarget(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ question: Int?
  ) throws(RequestFailure) {
    guard !range.isEmpty else { throw RequestFailure("empty target") }
    target = range
    query = question.map { $0 + 1..<range.upperBound }
    let pathEnd = question ?? range.upperBound
    let first = bytes[range.lowerBound]
    if first == UInt8(ascii: "/") {
      path = range.lowerBound..<pathEnd
    } else if first == UInt8(ascii: "*"), range.count == 1, method == .options {
      path = range
    } else {
      try parseAbsoluteTarget(bytes, range.lowerBound..<pathEnd)
    }
  }

  private mutating func parseAbsoluteTarget(
    _ bytes: Span<UInt8>, _ range: Range<Int>
  ) throws(RequestFailure) {
    let schemes: [2 of StaticString] = ["http://", "https://"]
    for index in 0..<2 {
      let start = range.lowerBound + schemes[index].utf8CodeUnitCount
      guard start <= range.upperBound, bytes.equals(schemes[index], in: range.lowerBound..<start)
      else { continue }
      var end = start
      while end < range.upperBound, bytes[end] != UInt8(ascii: "/") { end += 1 }
      guard let host = Authority.host(in: bytes, start..<end) else {
        throw RequestFailure("malformed authority in the target")
      }
      targetAuthority = Authorities(whole: start..<end, host: host)
      // An empty path is the same as "/" (RFC 9110 section 4.2.3): the scheme's last slash stands in.
      path = end < range.upperBound ? end..<range.upperBound : start - 1..<start
      return
    }
    throw RequestFailure("neither a path nor an http URI as target")
  }

  // MARK: Fields

  /// Finds the name and the trimmed value of a field line (RFC 9112 section 5).
  ///
  /// - Parameters:
  ///   - bytes: the bytes that the line is in; it has been searched for control characters.
  ///   - line: the line without CR LF, not empty.
  static func field(
    _ bytes: Span<UInt8>, _ line: Range<Int>
  ) throws(RequestFailure) -> RequestHead.Field {
    guard !bytes[line.lowerBound].isBlank else { throw RequestFailure("folded field line") }
    let colon = bytes.end(of: .token, in: line)
    guard colon < line.upperBound, bytes[colon] == UInt8(ascii: ":"), colon > line.lowerBound
    else { throw RequestFailure("malformed field name") }
    return RequestHead.Field(
      name: line.lowerBound..<colon, value: bytes.trimmed(colon + 1..<line.upperBound))
  }

  /// Takes a field: keeps its position and records what matters for framing and routing.
  mutating func add(_ field: RequestHead.Field, in head: [UInt8]) throws(RequestFailure) {
    let bytes = head.span
    if fields.isEmpty { fields.reserveCapacity(12) }
    fields.append(field)
    let name = field.name
    switch name.count {
    case 4 where bytes.equals("Host", in: name): try parseHost(bytes, field.value)
    case 6 where bytes.equals("Expect", in: name): try parseExpectation(bytes, field.value)
    case 10 where bytes.equals("Connection", in: name): parseConnection(bytes, field.value)
    case 14 where bytes.equals("Content-Length", in: name): try parseLength(bytes, field.value)
    case 17 where bytes.equals("Transfer-Encoding", in: name): try parseCoding(bytes, field.value)
    default: break
    }
  }

  private mutating func parseHost(_ bytes: Span<UInt8>, _ value: Range<Int>) throws(RequestFailure)
  {
    guard hostField == nil else { throw RequestFailure("more than one Host") }
    guard let host = Authority.host(in: bytes, value) else {
      throw RequestFailure("malformed Host")
    }
    hostField = Authorities(whole: value, host: host)
  }

  private mutating func parseExpectation(
    _ bytes: Span<UInt8>, _ value: Range<Int>
  ) throws(RequestFailure) {
    guard bytes.equals("100-continue", in: value) else {
      throw RequestFailure(.expectationFailed, "unknown expectation")
    }
    saysContinue = true
  }

  private mutating func parseConnection(_ bytes: Span<UInt8>, _ value: Range<Int>) {
    saysClose = saysClose || bytes.list(in: value, contains: "close")
    saysKeepAlive = saysKeepAlive || bytes.list(in: value, contains: "keep-alive")
  }

  private mutating func parseLength(
    _ bytes: Span<UInt8>, _ value: Range<Int>
  ) throws(RequestFailure) {
    guard contentLength == nil else { throw RequestFailure("more than one Content-Length") }
    var length = 0
    var overflows = false
    for index in value {
      guard let digit = bytes[index].digitValue else {
        throw RequestFailure("malformed Content-Length")
      }
      let (product, high) = length.multipliedReportingOverflow(by: 10)
      let (sum, low) = product.addingReportingOverflow(Int(digit))
      overflows = overflows || high || low
      length = sum
    }
    guard !value.isEmpty else { throw RequestFailure("empty Content-Length") }
    guard !overflows else { throw RequestFailure(.contentTooLarge, "Content-Length too large") }
    contentLength = length
  }

  private mutating func parseCoding(
    _ bytes: Span<UInt8>, _ value: Range<Int>
  ) throws(RequestFailure) {
    guard !isChunked, !value.isEmpty else { throw RequestFailure("malformed Transfer-Encoding") }
    guard bytes.equals("chunked", in: value) else {
      throw RequestFailure(.notImplemented, "unknown transfer coding")
    }
    isChunked = true
  }

  // MARK: Whole head

  /// Takes the pseudo-fields of a request that has no request line (RFC 9113 section 8.3.1).
  mutating func applyPseudoFields(
    _ head: [UInt8], method: Method, target: Range<Int>, authority: Range<Int>
  ) throws(RequestFailure) {
    let bytes = head.span
    guard method != .connect else { throw RequestFailure(.notImplemented, "CONNECT") }
    self.method = method
    let (end, question) = Self.targetEnd(bytes, target)
    guard end == target.upperBound else { throw RequestFailure("malformed target") }
    try parseTarget(bytes, target, question)
    guard targetAuthority == nil else { throw RequestFailure("absolute path") }
    guard !authority.isEmpty else { return }
    guard let host = Authority.host(in: bytes, authority) else {
      throw RequestFailure("malformed authority")
    }
    targetAuthority = Authorities(whole: authority, host: host)
  }

  /// Checks what only the whole head can tell.
  ///
  /// - Parameters:
  ///   - fromHTTP2: the authority may stand in place of `Host`.
  ///   - hasBody: whether a body follows, which only HTTP/2 says apart from the fields.
  /// - Returns: the head.
  func finish(
    _ bytes: [UInt8], fromHTTP2: Bool = false, hasBody: Bool = false
  ) throws(RequestFailure) -> RequestHead {
    if isChunked {
      guard contentLength == nil else {
        throw RequestFailure("Content-Length with Transfer-Encoding")
      }
      guard version == .http11 else { throw RequestFailure("Transfer-Encoding in HTTP/1.0") }
    }
    let authority = targetAuthority ?? hostField
    if fromHTTP2, let targetAuthority, let hostField {
      // Two servers could take it for two different ones (RFC 9113 section 8.3.1).
      guard bytes[targetAuthority.whole].elementsEqual(bytes[hostField.whole]) else {
        throw RequestFailure("Host differs from the authority")
      }
    }
    if version == .http11, fromHTTP2 ? authority == nil : hostField == nil {
      throw RequestFailure("no Host")
    }
    let framing: RequestHead.Framing =
      isChunked ? .chunked : contentLength.map { .length($0) } ?? (hasBody ? .chunked : .none)
    return RequestHead(
      bytes: bytes, fields: fields, method: method, version: version, framing: framing,
      keepAlive: !saysClose && (version == .http11 || saysKeepAlive),
      // HTTP/1.0 clients know no interim response (RFC 9110 section 10.1.1).
      expectsContinue: saysContinue && version == .http11 && framing != .none
        && framing != .length(0),
      pathExtent: path, isPathEncoded: bytes[path].first(at: UInt8(ascii: "%")) != nil,
      queryExtent: query.map { RequestHead.Extent(wrappedValue: $0) },
      authorityExtent: authority?.whole ?? 0..<0, hostExtent: authority?.host ?? 0..<0)
  }
}

/// Gathers the head of an HTTP/2 request, field by field (RFC 9113 section 8.3).
///
/// Faults are kept and reported at the end: the fields of a header block must all be decoded, or the next block can't be.
public struct RequestHeadCollector: Sendable {
  private let limits: RequestParser.Limits
  private var bytes: [UInt8] = []
  private var method: Method?
  private var target: Range<Int>?
  private var authority = 0..<0
  private var builder = RequestHeadBuilder()
  private var hasAppliedPseudoFields = false
  private var failure: RequestFailure?
  /// The size of all that has come, in bytes as RFC 9113 section 6.5.2 counts: names, values, and 32 for each field.
  public private(set) var size = 0

  /// A collector for one request.
  public init(limits: RequestParser.Limits) { self.limits = limits }

  /// Takes a field; pseudo-fields come first.
  ///
  /// - Parameter name: the name in lower case, with its colon if it is a pseudo-field.
  public mutating func add(name: RawSpan, value: RawSpan) {
    size += name.byteCount + value.byteCount + 32
    guard failure == nil else { return }
    do throws(RequestFailure) {
      guard
        bytes.count + name.byteCount + value.byteCount + 2 <= min(limits.head, RequestHead.longest)
      else { throw RequestFailure(.headerFieldsTooLarge, "head too large") }
      let first = unsafe name.withUnsafeBytes { unsafe $0.first }
      if first == UInt8(ascii: ":") {
        try addPseudoField(name, value)
      } else {
        try addField(name, value)
      }
    } catch {
      failure = error
      // A refused head is not kept.
      bytes = []
      builder = RequestHeadBuilder()
    }
  }

  private mutating func append(_ span: RawSpan) -> Range<Int> {
    let start = bytes.count
    unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    return start..<bytes.count
  }

  private mutating func addPseudoField(_ name: RawSpan, _ value: RawSpan) throws(RequestFailure) {
    switch unsafe name.withUnsafeBytes({ unsafe String(decoding: $0, as: UTF8.self) }) {
    case ":method":
      guard value.byteCount <= RequestHeadBuilder.longestMethod else {
        throw RequestFailure(.notImplemented, "method too long")
      }
      method = unsafe value.withUnsafeBytes { unsafe Method($0) }
    case ":path":
      guard value.byteCount <= limits.target else {
        throw RequestFailure(.uriTooLong, "target too long")
      }
      target = append(value)
    case ":authority": authority = append(value)
    default: break
    }
  }

  private mutating func applyPseudoFields() throws(RequestFailure) {
    guard !hasAppliedPseudoFields else { return }
    hasAppliedPseudoFields = true
    guard let method, let target, !target.isEmpty else {
      throw RequestFailure("a pseudo-field is missing")
    }
    try builder.applyPseudoFields(bytes, method: method, target: target, authority: authority)
  }

  private mutating func addField(_ name: RawSpan, _ value: RawSpan) throws(RequestFailure) {
    try applyPseudoFields()
    guard builder.fields.count < limits.fieldCount else {
      throw RequestFailure(.headerFieldsTooLarge, "too many fields")
    }
    guard name.byteCount + value.byteCount + 4 <= limits.fieldLine else {
      throw RequestFailure(.headerFieldsTooLarge, "field line too long")
    }
    let start = append(name).lowerBound
    bytes.append(": ")
    _ = append(value)
    guard bytes[start...].allSatisfy(\.isFieldContent) else {
      throw RequestFailure("control character in a field")
    }
    let field = try RequestHeadBuilder.field(bytes.span, start..<bytes.count)
    guard field.name.count == name.byteCount else { throw RequestFailure("colon in a name") }
    try builder.add(field, in: bytes)
  }

  /// Gives the head, once all of its fields have come.
  ///
  /// - Parameter hasBody: whether a body follows.
  /// - Throws: the failure that ``RequestParser`` has for the same fault.
  public mutating func finish(hasBody: Bool) throws(RequestFailure) -> RequestHead {
    if let failure { throw failure }
    try applyPseudoFields()
    return try builder.finish(bytes, fromHTTP2: true, hasBody: hasBody)
  }
}
