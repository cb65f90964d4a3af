internal import Glibc
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform

/// Against raw sockets: responses that no honest server gives.
@Suite(.ownThreads) struct HostileServerTests {
  private func failure(
    _ response: String, _ change: (inout HTTPClientOptions) -> Void = { _ in }
  ) async throws -> HTTPFailure? {
    let server = try RawServer.responding(response)
    return try await failure(server, change)
  }

  private func failure(
    _ server: RawServer, _ change: (inout HTTPClientOptions) -> Void = { _ in }
  ) async throws -> HTTPFailure? {
    var options = HTTPClientOptions()
    options.timeout = .seconds(60)
    options.bodyLimit = 1000
    options.headLimit = 2000
    options.fieldLimit = 20
    change(&options)
    let client = try WebClient(options)
    let error = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.get, server.url))
    }
    return error?.code
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + String(repeating: "x", count: 1001)),
    ("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 5000)),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      + String(repeating: "1\r\nx\r\n", count: 1001)),
    ("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 2000) + "\r\n\r\n"),
    ("HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 21) + "\r\n"),
    ("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 1 << 20)),
    String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 200),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
      + String(repeating: "Trailer: x\r\n", count: 30) + "\r\n"),
  ])
  func cutsWhatIsTooLong(response: String) async throws {
    let code = try await failure(response)
    // A line beyond its own limits libcurl refuses itself.
    #expect(code == .tooLarge || (response.utf8.count > 1 << 20 && code == .outOfResources))
  }

  @Test(arguments: [
    ("HTTP/1.1 410 Gone\r\nContent-Length: 5000\r\n\r\n" + String(repeating: "x", count: 5000)),
    ("HTTP/1.1 410 Gone\r\n\r\n" + String(repeating: "x", count: 5000)),
    ("HTTP/1.1 410 Gone\r\nTransfer-Encoding: chunked\r\n\r\n"
      + String(repeating: "1\r\nx\r\n", count: 5000)),
  ])
  func cutsALongBodyWhoseStatusIsWanted(response: String) async throws {
    var options = HTTPClientOptions()
    options.bodyLimit = 1000
    options.cutsLongBodies = true
    let client = try WebClient(options)
    let server = try RawServer.responding(response)
    let answer = try await client.send(OutgoingRequest(.get, server.url))
    #expect(answer.status == .gone)
    #expect(answer.body == Array(repeating: UInt8(ascii: "x"), count: 1000))
  }

  @Test(arguments: [
    "", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n", "<html>hello</html>", "\u{0}\u{0}\u{0}\u{0}",
    "HTTP/1.1 999 Odd\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nno field\r\n\r\n", "HTTP/1.1 200 OK\r\n: nameless\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nabcde",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nabcde",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  ])
  func takesNothingThatIsBrokenForAResponse(response: String) async throws {
    let code = try await failure(response)
    #expect(code == .malformedResponse || code == .disconnected)
  }

  @Test func takesTheLastOfSeveralHeadsWithoutTrailers() async throws {
    let server = try RawServer.responding(
      """
      HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
      HTTP/1.1 200\r\nX:\r\nY:\t z \t\r\nTransfer-Encoding: chunked\r\n\r\n\
      3\r\nabc\r\n0\r\nLate: yes\r\n\r\n
      """)
    let response = try await WebClient().send(OutgoingRequest(.get, server.url))
    #expect(response.status == .ok)
    #expect(response.body == Array("abc".utf8))
    #expect(response.fields.pairs.map(\.name) == ["X", "Y", "Transfer-Encoding"])
    #expect(response.fields.pairs.map(\.value) == ["", "z", "chunked"])
  }

  @Test func doesNotUndoContentCodingsNorKeepsCookies() async throws {
    let heads = Lock<[String]>([])
    let server = try RawServer { connection in
      while case let head = connection.readHead(), !head.isEmpty {
        heads.withLock { $0.append(head) }
        connection.write(
          "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Encoding: gzip\r\n"
            + "Content-Length: 3\r\n\r\nabc")
      }
    }
    let client = try WebClient()
    for _ in 0..<2 {
      #expect(try await client.send(OutgoingRequest(.get, server.url)).body == Array("abc".utf8))
    }
    let seen = heads.withLock { $0 }
    #expect(seen.count == 2)
    #expect(!seen.joined().lowercased().contains("cookie"))
    #expect(!seen.joined().lowercased().contains("accept-encoding"))
  }

  @Test(arguments: [false, true])
  func givesUpOnSilenceAndOnDripping(drips: Bool) async throws {
    let server = try RawServer { connection in
      _ = connection.readHead()
      guard drips else { return connection.waitForEnd() }
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      // Time itself is tested: one byte after the other, faster than any time limit on silence.
      while connection.write("x") { usleep(20_000) }
    }
    #expect(try await failure(server) { $0.timeout = .milliseconds(300) } == .timedOut)
  }

  @Test func aRequestMayHaveATimeOfItsOwn() async throws {
    let server = try RawServer { $0.waitForEnd() }
    let client = try WebClient()
    let error = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.get, server.url, timeout: .milliseconds(100)))
    }
    #expect(error?.code == .timedOut)
  }

  @Test func givesUpOnAHandshakeThatDoesNotGoOn() async throws {
    let server = try RawServer { $0.waitForEnd() }
    var options = HTTPClientOptions()
    options.connectTimeout = .milliseconds(200)
    let client = try WebClient(options)
    let error = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.get, "https://127.0.0.1:\(server.port)/"))
    }
    #expect(error?.code == .timedOut)
  }

  @Test func aCancelledTaskEndsItsTransferAndNoOther() async throws {
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    let (arrived, arrive) = AsyncStream.makeStream(of: Void.self)
    let server = try RawServer { connection in
      guard connection.readHead().hasPrefix("GET /silent") else {
        connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        return
      }
      arrive.yield()
      connection.waitForEnd()
      end.yield()
    }
    let client = try WebClient()
    let task = Task { try await client.send(OutgoingRequest(.get, server.url + "/silent")) }
    for await _ in arrived.prefix(1) {}
    task.cancel()
    await #expect(throws: HTTPClientError.self) { try await task.value }
    for await _ in ended.prefix(1) {}
    #expect(try await client.send(OutgoingRequest(.get, server.url)).status == .noContent)
  }

  @Test func aTaskThatWasCancelledBeforeSendsNothing() async throws {
    let server = try RawServer { $0.waitForEnd() }
    let client = try WebClient()
    let code = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      do throws(HTTPClientError) {
        _ = try await client.send(OutgoingRequest(.get, server.url))
        return HTTPFailure?.none
      } catch {
        return error.code
      }
    }.value
    #expect(code == .cancelled)
    #expect(server.connections == 0)
  }
}
