internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Synchronization
internal import TestSupport
internal import Testing
internal import Platform

/// Responses that are made as they are sent.
@Suite("Responses in pieces", .ownThreads) struct PiecesTests {
  private struct Fault: Error {}

  /// Makes pieces of a size, so many of them or until an error, and counts those that it was asked for.
  private final class Source: Sendable {
    let made = Atomic<Int>(0)

    func plan(_ count: Int, size: Int = 5, fails: Bool = false) -> RequestPlan {
      .task(bodyLimit: 0) { [self] _ in
        let pieces = AsyncThrowingStream<[UInt8], any Error> {
          let number = self.made.wrappingAdd(1, ordering: .relaxed).newValue
          // Some come late.
          if number.isMultiple(of: 2) { try await Task.sleep(for: .milliseconds(1)) }
          guard number <= count else {
            if fails { throw Fault() }
            return nil
          }
          return [UInt8](repeating: 0x60 + UInt8(truncatingIfNeeded: number % 26), count: size)
        }
        return Response(.ok, body: .pieces(pieces))
      }
    }
  }

  @Test func areChunks() async throws {
    try await withServer(plan: { path, head in
      path == "/pieces" ? Source().plan(3) : standardPlan(path, head)
    }) { server in
      let client = try server.connect()
      try client.send(
        "GET /pieces HTTP/1.1\r\nHost: t\r\n\r\nHEAD /pieces HTTP/1.1\r\nHost: t\r\n\r\n"
          + "GET /n/1 HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
      let text = String(decoding: try client.readToEnd(), as: UTF8.self)
      let parts = text.components(separatedBy: "HTTP/1.1 200 OK\r\n")
      #expect(parts.count == 4)
      #expect(parts[1].contains("Transfer-Encoding: chunked\r\n"))
      #expect(parts[1].hasSuffix("\r\n\r\n5\r\naaaaa\r\n5\r\nbbbbb\r\n5\r\nccccc\r\n0\r\n\r\n"))
      #expect(parts[2].hasSuffix("\r\n\r\n"))
      #expect(parts[3].hasSuffix("/n/1"))
    }
  }

  @Test func endHTTP10sConnection() async throws {
    try await withServer(plan: { _, _ in Source().plan(2) }) { server in
      let client = try server.connect()
      try client.send("GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      let text = String(decoding: try client.readToEnd(), as: UTF8.self)
      #expect(text.hasSuffix("\r\n\r\naaaaabbbbb"))
      #expect(!text.contains("Transfer-Encoding") && !text.contains("Content-Length"))
    }
  }

  @Test func areFramesOfHTTP2() async throws {
    try await withServer(
      .secure(),
      plan: { path, head in
        path == "/pieces" ? Source().plan(40, size: 10_000) : standardPlan(path, head)
      }
    ) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/pieces")
      try client.ask(3, "/n/1")
      let response = try client.response(1)
      #expect(response.status == "200" && response["content-length"] == nil)
      #expect(response.body.count == 400_000)
      #expect(try client.response(3).text == "/n/1")
    }
  }

  @Test func areCutIfOneFails() async throws {
    try await withServer(plan: { _, _ in Source().plan(2, fails: true) }) { server in
      let client = try server.connect()
      try client.get("/pieces")
      let bytes = (try? client.readToEnd()) ?? []
      #expect(!String(decoding: bytes, as: UTF8.self).hasSuffix("0\r\n\r\n"))
    }
    try await withServer(.secure(), plan: { _, _ in Source().plan(2, fails: true) }) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/pieces")
      while client.responses[1]?.resetCode == nil { try client.step() }
      #expect(client.responses[1]?.isWhole == false)
    }
  }

  @Test func areMadeAsTheyAreTaken() async throws {
    let source = Source()
    try await withServer(plan: { _, _ in source.plan(.max, size: 100_000) }) { server in
      let client = try server.connect(receiveBuffer: 4096)
      try client.get("/pieces")
      // What the sockets hold, and no more.
      var last = -1
      while last != source.made.load(ordering: .relaxed) {
        last = source.made.load(ordering: .relaxed)
        pause(milliseconds: 300)
      }
      #expect((1...100).contains(last))
    }
  }
}
