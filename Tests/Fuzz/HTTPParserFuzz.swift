// Fuzzes the request parser: whatever the bytes, and however they are cut, it gives the same events.
// Compiled into one module with the sources of HTTPProtocol, so it imports nothing of this package:
//   swiftc -O -g -parse-as-library -sanitize=fuzzer,address Sources/HTTPProtocol/*.swift
//     Tests/Fuzz/HTTPParserFuzz.swift -o http-parser-fuzz

/// What a stream comes to: a digest of the events, and the failure's status.
private struct Trace: Equatable {
  private(set) var events: [String] = []
  private var body: [UInt8] = []
  private(set) var failure: RequestFailure?

  static func == (left: Trace, right: Trace) -> Bool {
    left.events == right.events && left.body == right.body && left.failure == right.failure
  }

  /// Feeds pieces that end at the given positions; each is a copy of its own, so that the address
  /// sanitizer sees a read past its end.
  init(_ bytes: [UInt8], cuts: [Int]) {
    var parser = RequestParser(limits: RequestParser.Limits())
    var start = 0
    for end in cuts + [bytes.count] {
      let piece = Array(bytes[start..<end])
      start = end
      guard feed(piece, to: &parser) else { return }
    }
  }

  private mutating func feed(_ piece: [UInt8], to parser: inout RequestParser) -> Bool {
    var offset = 0
    while true {
      do throws(RequestFailure) {
        let before = offset
        let event = try parser.next(piece.span.bytes, from: &offset)
        precondition(offset >= before && offset <= piece.count)
        switch event {
        case .incomplete:
          precondition(offset == piece.count)
          return true
        case .head(let head): events.append(Self.digest(head))
        case .body(let range):
          precondition(!range.isEmpty && range.lowerBound >= before && range.upperBound == offset)
          body += piece[range]
        case .end: events.append("end after \(body.count)")
        }
      } catch {
        failure = error
        return false
      }
    }
  }

  /// Asks a head for all it can tell, which must not trap.
  private static func digest(_ head: RequestHead) -> String {
    var text = "\(head.method) \(head.version) \(head.framing) \(head.keepAlive) "
    text += "\(head.expectsContinue) \(head.host) \(head.authority) \(head.target) "
    text += "\(head.value(.accept) ?? "") \(head.isWebSocketUpgrade)"
    head.forEachField { name, value in text += "\(name.count):\(value.count) " }
    for segment in head.segments {
      text += PercentEncoding.decodeText(segment) ?? "malformed"
    }
    if let query = head.query { text += "\(URLEncodedForm(query)?.pairs.count ?? -1)" }
    let now = HTTPDate(1_700_000_000)
    let outcome = Preconditions.evaluate(
      head, Validators(entityTag: EntityTag("a"), lastModified: HTTPDate(1_600_000_000)), now: now)
    text += "\(outcome) \(AcceptList(head, .accept).quality(of: "application/json") ?? -1) "
    text += "\(AcceptList(head, .acceptEncoding).quality(ofCoding: "gzip"))"
    if let date = head.first(.ifModifiedSince).flatMap({ HTTPDate($0, now: now) }) {
      precondition(HTTPDate(Array(date.text.utf8)[...], now: now) == date)
    }
    _ = WebSocketHandshake.check(head)
    return text
  }
}

/// The entry point of libFuzzer: the first two bytes choose the cuts, the rest is the stream.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTPParser(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  let bytes = Array(input.dropFirst(2))
  let whole = Trace(bytes, cuts: [])
  let first = bytes.count * Int(input.first ?? 0) / 256
  let second = first + (bytes.count - first) * Int(input.dropFirst().first ?? 0) / 256
  precondition(Trace(bytes, cuts: [first]) == whole)
  precondition(Trace(bytes, cuts: [first, second]) == whole)
  if bytes.count < 512 { precondition(Trace(bytes, cuts: Array(bytes.indices)) == whole) }
  return 0
}
