internal import Formats
internal import Glibc
internal import HTTPClient
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of publishing over sockets.
@Suite(.ownThreads) struct PublishingSocketTests: PublishingSuite {
  let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  @Test func whatDoesNotArriveWholeIsNotPublished() async throws {
    let server = try await server()
    let listener = try WebServer(
      options: ServerOptions(endpoints: [.tcp(.loopback, port: 0)]),
      responder: server.table,
      report: { _ in })
    try listener.start()
    do {
      let url = "http://\(listener.endpoints[0])\(Self.place)"
      let client = try WebClient()
      func put(_ bytes: [UInt8]) async throws -> IncomingResponse {
        try await client.send(OutgoingRequest(.put, url, body: bytes))
      }
      let present = try sign()
      #expect(try await put(present).status == .created)
      let newer = try sign(at: Self.now + 5)
      // A byte more than the limit; the body is not looked at.
      let padding = [UInt8](repeating: 0x20, count: VerificationQueue.bodyLimit + 1 - newer.count)
      #expect(try await put(newer + padding).status == .contentTooLarge)
      // A part of the body, and then the end of the connection.
      let port = try #require(UInt16("\(listener.endpoints[0])".split(separator: ":").last ?? ""))
      try Self.send(
        Array(
          "PUT \(Self.place) HTTP/1.1\r\nHost: x\r\nContent-Length: \(newer.count)\r\n\r\n".utf8)
          + newer.dropLast(), to: port)
      #expect(try await client.send(OutgoingRequest(.get, url)).body == present)
      // It would have been good.
      #expect(try await put(newer).status == .ok)
      #expect(try await client.send(OutgoingRequest(.get, url)).body == newer)
    } catch {
      await listener.drain(within: .zero)
      throw error
    }
    await listener.drain(within: .zero)
  }

  /// Sends bytes, and ends the connection.
  private static func send(_ bytes: [UInt8], to port: UInt16) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    try #require(isConnected)
    #expect(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
  }
}
