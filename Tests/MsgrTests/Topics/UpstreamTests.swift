internal import Cryptography
internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

/// Calls to another server, which wakes iPhones.
@Suite(.ownThreads) struct UpstreamTests {
  /// A server that keeps what it is told, and answers with the status that it is given.
  private final class StandIn: Sendable {
    struct Call: Sendable {
      let method: HTTPProtocol.Method
      let path: String
      let fields: [(name: String, value: String)]
      let body: [UInt8]

      subscript(name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
      }
    }

    /// The calls that came, and the answer to them.
    final class Record: Sendable {
      let calls = Lock<[Call]>([])
      let status = Lock(Status.ok)
    }

    private struct Answering: Responder {
      let record: Record

      func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
        .respond(bodyLimit: 1 << 20) { [record] request in
          var fields: [(name: String, value: String)] = []
          request.head.forEachField { name, value in
            fields.append(
              (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
          }
          let call = Call(
            method: request.head.method, path: String(decoding: request.head.path, as: UTF8.self),
            fields: fields, body: request.body)
          record.calls.withLock { $0.append(call) }
          return Response(record.status.withLock { $0 })
        }
      }
    }

    let record = Record()
    private let server: WebServer
    let url: String

    init() throws {
      server = try WebServer(
        options: ServerOptions(endpoints: [.tcp(.loopback, port: 0)], threads: 1),
        responder: Answering(record: record), report: { _ in })
      try server.start()
      guard case .tcp(_, let port) = try #require(server.endpoints.first) else { fatalError() }
      url = "http://127.0.0.1:\(port)"
    }

    var calls: [Call] { record.calls.withLock { $0 } }

    func stop() async { await server.drain(within: .zero) }
  }

  private static let publicURL = "https://push.example.org"

  private func withSite(_ body: (NtfyTests.Site, StandIn) async throws -> Void) async throws {
    let standIn = try StandIn()
    let fixture = try await Fixture(
      """
      [msgr.topics]
      upstream = "\(standIn.url)/"
      upstream_token = "tk_upstream"
      [server]
      public_url = "\(Self.publicURL)"
      """, publicURL: Self.publicURL)
    try await fixture.register("anna")
    let task = Task { await fixture.service.topics.run() }
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(NtfyTests.Site(fixture), standIn))
    } catch { result = .failure(error) }
    task.cancel()
    await standIn.stop()
    try result.get()
  }

  @Test func learnsADigestAndAnIdentifier() async throws {
    try await withSite { site, standIn in
      let entry = try await site.request(.post, "/alerts", "secret", [("Title", "hidden")])
      let id = try #require(entry.object["id"] as? String)
      // None for open streams alone, for UnifiedPush, or that a sequence was read.
      _ = try await site.request(.post, "/alerts", "transient", [("Cache", "no")])
      _ = try await site.request(.get, "/upAbcdefghij12/json?poll=1")
      #expect(try await site.request(.post, "/upAbcdefghij12?up=1", "x").status == 200)
      _ = try await site.request(.put, "/alerts/\(id)/clear")
      let second = try await site.request(.post, "/alerts", "again")
      try await waitUntil { standIn.calls.count >= 2 }
      let digest = Hex.encode(SHA256.hash(Array("\(Self.publicURL)/alerts".utf8)).bytes)
      let ids = Set([id, try #require(second.object["id"] as? String)])
      #expect(Set(standIn.calls.compactMap { $0["X-Poll-ID"] }) == ids)
      for call in standIn.calls {
        #expect(call.method == .post && call.path == "/\(digest)")
        #expect(call.body.isEmpty && call["Authorization"] == "Bearer tk_upstream")
        let text = call.fields.map { "\($0.name): \($0.value)" }.joined()
        for word in ["alerts", "secret", "hidden", "anna"] { #expect(!text.contains(word)) }
      }
      // The phone then asks for that message alone.
      let found = try await site.request(.get, "/alerts/json?poll=1&id=\(id)")
      #expect(found.object["message"] as? String == "secret")
      #expect(standIn.calls.count == 2)
    }
  }

  @Test func comesWithADelayedMessage() async throws {
    try await withSite { site, standIn in
      _ = try await site.request(.post, "/alerts", "tea", [("In", "1h")])
      try await Task.sleep(for: .milliseconds(50))
      #expect(standIn.calls.isEmpty)
      site.fixture.clock.advance(by: .seconds(3601))
      try await waitUntil { standIn.calls.count == 1 }
    }
  }

  @Test func isTriedThreeTimes() async throws {
    try await withSite { site, standIn in
      standIn.record.status.withLock { $0 = .serviceUnavailable }
      _ = try await site.request(.post, "/alerts", "x")
      for count in 1...3 {
        try await waitUntil { standIn.calls.count == count }
        // The next try is due after minutes, once the outcome of this one is in the store; after the last there is none.
        let tries = count == 3 ? nil : count
        try await waitUntil {
          try await site.fixture.service.topics.store.triesOfTheWake() == tries
        }
        site.fixture.clock.advance(by: .seconds(count == 1 ? 31 : 301))
      }
      #expect(standIn.calls.count == 3)
    }
  }
}

extension TopicStore {
  /// Returns how often the call that waits was tried; nil if none waits.
  fileprivate func triesOfTheWake() async throws -> Int? {
    try await store.read { snapshot in
      try snapshot.value("SELECT tries FROM msgr_topic_wakes")
    }
  }
}
