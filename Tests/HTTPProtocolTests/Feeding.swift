internal import HTTPProtocol

/// The outcome of a stream of bytes: an event, with body runs joined.
enum Outcome: Equatable, CustomStringConvertible {
  case head(String)
  case body([UInt8])
  case end
  case failure(UInt16)

  var description: String {
    switch self {
    case .head(let text): "head \(text)"
    case .body(let bytes): "body \(String(decoding: bytes, as: UTF8.self))"
    case .end: "end"
    case .failure(let code): "\(code)"
    }
  }
}

extension RequestHead {
  /// All that a handler can see.
  var summary: String {
    var text = "\(method.name) \(String(decoding: path, as: UTF8.self)) \(version) \(authority) "
    text += "\(host) \(framing) \(keepAlive) \(expectsContinue)"
    if let query { text += " ?" + String(decoding: query, as: UTF8.self) }
    forEachField { name, value in
      text +=
        " [\(String(decoding: name, as: UTF8.self))=\(String(decoding: value, as: UTF8.self))]"
    }
    return text
  }
}

/// Feeds bytes to a parser in pieces that end at the given positions, and once more at the end.
func outcomes(
  _ bytes: [UInt8], cuts: [Int] = [], limits: RequestParser.Limits = .init()
) -> [Outcome] {
  var parser = RequestParser(limits: limits)
  var outcomes: [Outcome] = []
  var start = 0
  for end in cuts + [bytes.count] {
    let piece = Array(bytes[start..<end])
    start = end
    var offset = 0
    feeding: while true {
      do throws(RequestFailure) {
        switch try parser.next(piece.span.bytes, from: &offset) {
        case .incomplete: break feeding
        case .head(let head): outcomes.append(.head(head.summary))
        case .end: outcomes.append(.end)
        case .body(let range):
          if case .body(let before) = outcomes.last {
            outcomes[outcomes.count - 1] = .body(before + piece[range])
          } else {
            outcomes.append(.body(Array(piece[range])))
          }
        }
      } catch {
        return outcomes + [.failure(error.status.code)]
      }
    }
  }
  return outcomes
}

func outcomes(_ text: String, limits: RequestParser.Limits = .init()) -> [Outcome] {
  outcomes(Array(text.utf8), limits: limits)
}

/// The head of a request that must be good.
func head(_ text: String) throws -> RequestHead {
  var parser = RequestParser(limits: .init())
  let bytes = Array(text.utf8)
  var offset = 0
  guard case .head(let head) = try parser.next(bytes.span.bytes, from: &offset) else {
    throw RequestFailure(.badRequest, "no head")
  }
  return head
}

extension ArraySlice<UInt8> {
  var text: String { String(decoding: self, as: UTF8.self) }
}
