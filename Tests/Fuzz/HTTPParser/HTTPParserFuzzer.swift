internal import Fuzzing
internal import HTTPProtocol

/// Fuzzes the request parser: however the bytes are cut, it gives the same events.
///
/// The first two bytes choose the cuts, the rest is the stream.
@main enum HTTPParserFuzzer: Fuzzer {
  static func test(_ input: [UInt8]) {
    let bytes = Array(input.dropFirst(2))
    let whole = Trace(bytes, cuts: [])
    let first = bytes.count * Int(input.first ?? 0) / 256
    let second = first + (bytes.count - first) * Int(input.dropFirst().first ?? 0) / 256
    precondition(Trace(bytes, cuts: [first]) == whole)
    precondition(Trace(bytes, cuts: [first, second]) == whole)
    if bytes.count < 512 { precondition(Trace(bytes, cuts: Array(bytes.indices)) == whole) }
  }
}

/// The events of a stream and its failure.
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
        case .head(let head): events.append(head.digest)
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
}
