internal import HTTPProtocol
internal import TestSupport
internal import Testing

struct RequestParserTests {
  @Test(arguments: RequestTable.bad)
  func refuses(request: String, status: UInt16) {
    #expect(outcomes(request).last == .failure(status))
  }

  @Test(arguments: RequestTable.good)
  func takes(request: String, expected: [Outcome]) {
    #expect(outcomes(request) == expected)
  }

  /// However the stream is cut, the events and the failure are the same.
  @Test(
    arguments: RequestTable.bad.map(\.request) + RequestTable.good.map(\.request),
    TestSeeds.random(1))
  func doesNotDependOnCuts(request: String, seed: UInt64) {
    let bytes = Array(request.utf8)
    let whole = outcomes(bytes)
    #expect(outcomes(bytes, cuts: Array(0..<bytes.count)) == whole)
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<20 {
      let cuts = (0..<Int.random(in: 1...8, using: &generator))
        .map { _ in Int.random(in: 0...bytes.count, using: &generator) }.sorted()
      #expect(outcomes(bytes, cuts: cuts) == whole)
    }
  }

  /// Nothing behind a refused request is taken for a request.
  @Test(arguments: RequestTable.bad)
  func staysFailed(request: String, status: UInt16) {
    let smuggled = outcomes(request + "\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(smuggled.last == .failure(status))
    for case .head(let text) in smuggled { #expect(!text.contains("smuggled")) }

    var parser = RequestParser(limits: .init())
    var failures: [RequestFailure] = []
    for text in [request, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"] {
      let bytes = Array(text.utf8)
      var offset = 0
      do throws(RequestFailure) {
        while true {
          if case .incomplete = try parser.next(bytes.span.bytes, from: &offset) { break }
        }
      } catch { failures.append(error) }
    }
    #expect(failures.count == 2 && failures[0] == failures[1])
  }

  /// A fault is found when its byte comes, not at the end of the head.
  @Test(arguments: [
    "GET / HTTP/1.1\n", "GET / HTTP/1.1\rX", "\u{16}", "GET / HTTP/1.1\r\nA: \u{0}",
    "GET / HTTP/1.1\r\nA : ", "GET / HTTP/3.0\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n",
    "GET /" + String(repeating: "a", count: 8300),
  ])
  func failsEarly(start: String) {
    let line = start.hasSuffix(": ") ? start + "\r\n" : start
    guard case .failure = outcomes(line).last else {
      Issue.record("still waiting")
      return
    }
  }

  @Test func knowsWhenItIsBetweenMessages() throws {
    var parser = RequestParser(limits: .init())
    #expect(parser.isBetweenMessages)
    func feed(_ text: String) throws -> [RequestParser.Event] {
      var events: [RequestParser.Event] = []
      let bytes = Array(text.utf8)
      var offset = 0
      while true {
        let event = try parser.next(bytes.span.bytes, from: &offset)
        if case .incomplete = event { return events }
        events.append(event)
      }
    }
    _ = try feed("\r\n")
    #expect(parser.isBetweenMessages)
    _ = try feed("G")
    #expect(!parser.isBetweenMessages)
    #expect(try feed("ET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n").count == 1)
    #expect(!parser.isBetweenMessages)
    #expect(try feed("x").count == 2)
    #expect(parser.isBetweenMessages)
  }

  @Test func stopsAfterEachEvent() throws {
    var parser = RequestParser(limits: .init())
    let first = Array("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    let bytes = first + first
    var offset = 0
    guard case .head = try parser.next(bytes.span.bytes, from: &offset) else {
      Issue.record("no head")
      return
    }
    #expect(offset == first.count)
    guard case .end = try parser.next(bytes.span.bytes, from: &offset) else {
      Issue.record("no end")
      return
    }
    #expect(offset == first.count)
  }

  @Test(arguments: [
    (RequestTable.post("Content-Length: 11\r\n", body: ""), true),
    (RequestTable.post("Content-Length: 10\r\n", body: "0123456789"), false),
    (RequestTable.chunked("5\r\nabcde\r\n6\r\n"), true),
    (RequestTable.chunked("5\r\nabcde\r\n5\r\nabcde\r\n0\r\n\r\n"), false),
  ])
  func limitsBody(request: String, isRefused: Bool) throws {
    var parser = RequestParser(limits: .init())
    let bytes = Array(request.utf8)
    var offset = 0
    _ = try parser.next(bytes.span.bytes, from: &offset)
    parser.bodyLimit = 10
    do throws(RequestFailure) {
      while true {
        let event = try parser.next(bytes.span.bytes, from: &offset)
        if case .incomplete = event { break }
        if case .end = event { break }
      }
      #expect(!isRefused)
    } catch {
      #expect(isRefused && error.status == .contentTooLarge)
    }
  }

  @Test func takesExactlyTheLimits() {
    var limits = RequestParser.Limits()
    limits.target = 10
    limits.fieldLine = 20
    limits.fieldCount = 2
    let host = "Host: a\r\n"
    #expect(
      outcomes("GET /234567890 HTTP/1.1\r\n\(host)\r\n", limits: limits).last == .end)
    #expect(
      outcomes("GET /2345678901 HTTP/1.1\r\n\(host)\r\n", limits: limits).last == .failure(414))
    #expect(
      outcomes("GET / HTTP/1.1\r\n\(host)A: 345678901234567\r\n\r\n", limits: limits).last == .end)
    #expect(
      outcomes("GET / HTTP/1.1\r\n\(host)A: 3456789012345678\r\n\r\n", limits: limits).last
        == .failure(431))
    #expect(
      outcomes("GET / HTTP/1.1\r\n\(host)A:\r\nB:\r\n\r\n", limits: limits).last == .failure(431))
    limits.head = 31
    #expect(outcomes("GET / HTTP/1.1\r\n\(host)A:\r\n\r\n", limits: limits).last == .end)
    #expect(
      outcomes("GET / HTTP/1.1\r\n\(host)A: 1\r\n\r\n", limits: limits).last == .failure(431))
  }

  /// Positions are kept in 16 bits, whatever the limits say.
  @Test func boundsTheHead() {
    var limits = RequestParser.Limits()
    limits.head = 1 << 30
    limits.fieldLine = 1 << 30
    limits.target = 1 << 30
    let long = String(repeating: "a", count: 70_000)
    #expect(outcomes("GET /\(long) HTTP/1.1\r\n", limits: limits).last == .failure(414))
    #expect(
      outcomes("GET / HTTP/1.1\r\nHost: a\r\nX: \(long)\r\n\r\n", limits: limits).last
        == .failure(431))
  }
}
