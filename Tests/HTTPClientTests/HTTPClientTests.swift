internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing

/// Against Python's server: requests as they are sent, and responses as they are read.
@Suite(.ownThreads) struct HTTPClientTests {
  private struct Echo: Decodable {
    let method: String
    let path: String
    let body: String
    let peer: Int
    let fields: [[String]]

    func values(_ name: String) -> [String] {
      fields.filter { $0[0].lowercased() == name.lowercased() }.map { $0[1] }
    }
  }

  private static let python = Result { try PythonServer() }
  private let client: WebClient
  private let base: String

  init() throws {
    client = try WebClient()
    base = "http://127.0.0.1:\(try Self.python.get().port)"
  }

  private func echo(_ request: OutgoingRequest) async throws -> Echo {
    let response = try await client.send(request)
    #expect(response.status == .ok)
    return try JSONDecoder().decode(Echo.self, from: Data(response.body))
  }

  @Test func sendsMethodTargetFieldsAndBody() async throws {
    var fields = HeaderFields()
    fields.append(.accept, "text/xml")
    fields.append(.ifNoneMatch, "\"a\", \"b\"")
    fields.append(.origin, "")
    let seen = try await echo(
      OutgoingRequest(
        .post, "\(base)/a/../b?c=d%20e", fields: fields, body: Array("x\u{0}\r\ny".utf8)))
    #expect(seen.method == "POST")
    #expect(seen.body == "x\u{0}\r\ny")
    #expect(seen.values("Accept") == ["text/xml"])
    #expect(seen.values("If-None-Match") == ["\"a\", \"b\""])
    #expect(seen.values("Origin") == [""])
    #expect(seen.values("Content-Length") == ["5"])
    #expect(seen.values("Content-Type") == [])
    #expect(seen.values("Expect") == [])
  }

  @Test(arguments: [Method.get, .head, .put, .delete, .other("BREW")])
  func sendsAnyMethod(method: Method) async throws {
    let response = try await client.send(OutgoingRequest(method, base + "/m"))
    #expect(response.status == .ok)
    #expect(response.version == .http1)
    if method == .head {
      #expect(response.body.isEmpty)
      #expect(response.fields.first(.contentLength) != "0")
    } else {
      let seen = try JSONDecoder().decode(Echo.self, from: Data(response.body))
      #expect(seen.method == method.name)
      #expect(seen.values("Content-Length") == (method == .put ? ["0"] : []))
    }
  }

  @Test func givesTheFieldsOfAResponseInOrder() async throws {
    let response = try await client.send(OutgoingRequest(.get, base + "/"))
    #expect(response.fields.first(FieldName("x-twice")) == "one")
    #expect(response.fields.value(FieldName("x-twice")) == "one, two")
    #expect(response.fields.first(FieldName("absent")) == nil)
    #expect(response.fields.value(FieldName("absent")) == nil)
  }

  @Test(arguments: [300, 301, 302, 304, 404, 410, 500] as [UInt16])
  func followsNoRedirectAndGivesEveryStatus(status: UInt16) async throws {
    let response = try await client.send(OutgoingRequest(.get, base + "/status/\(status)"))
    #expect(response.status.code == status)
    #expect(response.body.isEmpty)
    #expect(response.fields.first(.lastModified) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(response.fields.first(.location) == "/elsewhere")
  }

  @Test func keepsConnections() async throws {
    let first = try await echo(OutgoingRequest(.get, base + "/1"))
    let second = try await echo(OutgoingRequest(.get, base + "/2"))
    #expect(first.peer == second.peer)
  }

  @Test func sendsManyRequestsAtOnce() async throws {
    let paths = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<100 {
        group.addTask { try await echo(OutgoingRequest(.get, "\(base)/\(number)")).path }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(paths == Set((0..<100).map { "/\($0)" }))
  }

  @Test(arguments: [
    "", "/relative", "ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1:80", "http://",
    "http://user:password@127.0.0.1/", "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: y",
    "http://127.0.0.1/\u{0}", "http://127.0.0.1:99999/", "https:/127.0.0.1",
  ])
  func refusesWhatIsNoURLOfTheWeb(url: String) async throws {
    let error = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.get, url))
    }
    #expect(error?.code == .invalidRequest)
    #expect(error?.message.contains("password@") == false)
  }

  @Test(arguments: ["", "G T", "GET\r\nX: y", "GÉT"])
  func refusesWhatIsNoMethod(name: String) async throws {
    let error = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.other(name), base))
    }
    #expect(error?.code == .invalidRequest)
  }

  /// Each of them leads to a server that listens, by whatever name or form of the address.
  @Test(arguments: [
    "127.0.0.1", "localhost", "0.0.0.0", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]",
    "[::]",
  ])
  func reachesNothingThatIsNotPublic(_ host: String) async throws {
    var options = HTTPClientOptions()
    options.reach = .publicAddresses
    let careful = try WebClient(options)
    let port = try Self.python.get().port
    let refused = await #expect(throws: HTTPClientError.self) {
      try await careful.send(OutgoingRequest(.get, "http://\(host):\(port)/"))
    }
    #expect(refused?.code == .forbiddenAddress)
  }

  @Test func reportsANameWithoutAddressAndAPortWithoutListener() async throws {
    // A label that no name may have (RFC 1035 section 2.3.4), so that no resolver is asked, and none can be slow.
    let name = "\(String(repeating: "x", count: 64)).invalid"
    let unknown = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.get, "http://\(name)/"))
    }
    #expect(unknown?.code == .unknownHost)
    let stopped = try RawServer { _ in }
    stopped.stop()
    let absent = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.get, stopped.url))
    }
    #expect(absent?.code == .notConnected)
  }
}
