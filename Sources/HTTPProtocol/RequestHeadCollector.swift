/// Gathers the head of an HTTP/2 request, field by field (RFC 9113 section 8.3).
///
/// Faults are kept and told at the end: the fields of a header block must all be decoded, or the next block can't be.
public struct RequestHeadCollector: Sendable {
  private let limits: RequestParser.Limits
  private var bytes: [UInt8] = []
  private var method: Method?
  private var target: Range<Int>?
  private var authority = 0..<0
  private var builder = RequestHeadBuilder()
  private var hasParts = false
  private var failure: RequestFailure?
  /// The size of all that has come, in bytes as RFC 9113 section 6.5.2 counts: names, values, and 32 for each field.
  public private(set) var size = 0

  /// A collector for one request.
  ///
  /// - Parameter limits: the limits of the request.
  public init(limits: RequestParser.Limits) { self.limits = limits }

  /// Takes a field; pseudo-fields come first.
  ///
  /// - Parameters:
  ///   - name: the name in lower case, with its colon if it is a pseudo-field.
  ///   - value: the value.
  public mutating func take(name: RawSpan, value: RawSpan) {
    size += name.byteCount + value.byteCount + 32
    guard failure == nil else { return }
    do throws(RequestFailure) {
      guard
        bytes.count + name.byteCount + value.byteCount + 2 <= min(limits.head, RequestHead.longest)
      else { throw RequestFailure(.headerFieldsTooLarge, "head too large") }
      let first = unsafe name.withUnsafeBytes { unsafe $0.first }
      if first == UInt8(ascii: ":") {
        try takePseudoField(name, value)
      } else {
        try takeField(name, value)
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

  private mutating func takePseudoField(_ name: RawSpan, _ value: RawSpan) throws(RequestFailure) {
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

  private mutating func takeParts() throws(RequestFailure) {
    guard !hasParts else { return }
    hasParts = true
    guard let method, let target, !target.isEmpty else {
      throw RequestFailure("a pseudo-field is missing")
    }
    try builder.takeParts(bytes, method: method, target: target, authority: authority)
  }

  private mutating func takeField(_ name: RawSpan, _ value: RawSpan) throws(RequestFailure) {
    try takeParts()
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
    try builder.take(field, in: bytes)
  }

  /// Gives the head, once all of its fields have come.
  ///
  /// - Parameter hasBody: whether a body follows.
  /// - Throws: the failure that ``RequestParser`` has for the same fault.
  public mutating func finish(hasBody: Bool) throws(RequestFailure) -> RequestHead {
    if let failure { throw failure }
    try takeParts()
    return try builder.finish(bytes, fromHTTP2: true, hasBody: hasBody)
  }
}
