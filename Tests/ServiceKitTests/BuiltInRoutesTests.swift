internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Testing
internal import Threading

@Suite struct BuiltInRoutesTests {
  @Test func probes() async throws {
    let missing = Lock<String?>("no index yet")
    let box = Box(missing)
    var service = Router(service: "repo")
    service.readiness("index") { box.value.withLock { $0 } }
    let table = try table(service, .probes(checking: [service]))
    #expect(try await table.send(.get, "/healthz").text == "ok\n")
    let version = #"{"name":"awd","version":"\#(Product.version)"}"#
    #expect(try await table.send(.get, "/version").text == version)
    let unready = try await table.send(.get, "/readyz")
    #expect(unready.status == .serviceUnavailable && unready.text == "repo: index: no index yet\n")
    let json = try await table.send(.get, "/readyz", fields: [("Accept", "application/json")])
    #expect(json.text == #"{"ready":false,"reasons":["repo: index: no index yet"]}"#)
    box.value.withLock { $0 = nil }
    let ready = try await table.send(.get, "/readyz")
    #expect(ready.status == .ok && ready.text == "ready\n")
  }

  @Test(arguments: [
    ("127.0.0.1", false, true), ("127.9.9.9", false, true), ("::1", false, true),
    ("::ffff:127.0.0.1", false, true), ("", false, true), ("127.0.0.1", true, false),
    ("10.0.0.1", false, false), ("1.127.0.1", false, false), ("2001:db8::1", false, false),
  ])
  func metricsAreForThisMachine(_ peer: String, _ isForwarded: Bool, _ isAnswered: Bool)
    async throws
  {
    let fields = isForwarded ? [(name: "X-Forwarded-For", value: "127.0.0.1")] : []
    for (onlyLocal, expected) in [(true, isAnswered), (false, true)] {
      let table = try table(.metrics(Metrics(), onlyLocal: onlyLocal))
      let response = try await table.send(.get, "/metrics", fields: fields, peer: peer)
      #expect(response.status == (expected ? .ok : .forbidden))
    }
  }
}

private final class Box<Value: ~Copyable & Sendable>: Sendable {
  let value: Value
  init(_ value: consuming Value) { self.value = value }
}
