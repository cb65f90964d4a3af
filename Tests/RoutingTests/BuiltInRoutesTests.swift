internal import Formats
internal import Budgets
internal import Configuration
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import ServiceKit
internal import Testing
internal import Platform

@Suite struct BuiltInRoutesTests {
  @Test func probes() async throws {
    let missing = Lock<String?>("no index yet")
    let box = Box(missing)
    var service = Router(service: "repo")
    service.readiness("index") { box.value.withLock { $0 } }
    let table = try table(service, .probes(checking: [service]))
    #expect(try await table.send(.get, "/healthz").text == "ok\n")
    let build =
      #""buildDate":"\#(Product.date)","commit":"\#(Product.commit)","date":"\#(Product.date)""#
    let version = #"{\#(build),"name":"awd","version":"\#(Product.version)"}"#
    let told = try await table.send(.get, "/version").text
    #expect(told == version)
    let unready = try await table.send(.get, "/readyz")
    #expect(unready.status == .serviceUnavailable && unready.text == "repo: index: no index yet\n")
    let json = try await table.send(.get, "/readyz", fields: [("Accept", "application/json")])
    #expect(json.text == #"{"ready":false,"reasons":["repo: index: no index yet"]}"#)
    box.value.withLock { $0 = nil }
    let ready = try await table.send(.get, "/readyz")
    #expect(ready.status == .ok && ready.text == "ready\n")
  }

  private func isAnswered(
    _ access: OperatorAccess, host: String = "localhost:8080",
    fields: [(name: String, value: String)] = [], peer: String = "127.0.0.1"
  ) async throws -> Bool {
    let table = try table(.metrics(Metrics(), for: access))
    let response = try await table.send(
      .get, "/metrics", host: host, fields: fields, peer: peer)
    #expect(response.status == .ok || response.status == .forbidden)
    return response.status == .ok
  }

  private static let shared = OperatorAccess.sharedListener(
    behind: TrustedProxies([AddressRange("127.0.0.8")].compactMap(\.self)), ports: [8080])

  @Test(arguments: [
    ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("::ffff:127.0.0.1", true),
    // A Unix socket and a trusted address are a proxy's.
    ("", false), ("127.0.0.8", false),
    ("10.0.0.1", false), ("1.127.0.1", false), ("2001:db8::1", false),
  ])
  func metricsAreForThisMachine(_ peer: String, _ isExpected: Bool) async throws {
    #expect(try await isAnswered(Self.shared, peer: peer) == isExpected)
    #expect(try await isAnswered(.ownListener(), peer: peer))
  }

  @Test(arguments: [
    "X-Forwarded-For", "x-forwarded-proto", "X-Forwarded-Host", "X-Forwarded-Server", "Forwarded",
    "Via", "X-Real-IP",
  ])
  func metricsDontGoThroughProxies(_ name: String) async throws {
    let fields = [(name: name, value: "127.0.0.1")]
    #expect(try await !isAnswered(Self.shared, fields: fields))
    #expect(try await isAnswered(.ownListener(), fields: fields))
  }

  @Test(arguments: [
    ("127.0.0.1:8080", true, true), ("[::1]:8080", true, true), ("LocalHost:8080", true, true),
    ("127.8.8.8:8080", true, true),
    // Another port is that of a proxy in front.
    ("localhost", false, true), ("localhost:9090", false, true), ("10.0.0.1:8080", false, true),
    ("awd.internal", false, true), ("evil.example", false, false),
    ("evil.example:8080", false, false), ("localhost.evil.example:8080", false, false),
    ("127.0.0.1.evil.example:8080", false, false),
  ])
  func metricsDontAnswerToForeignNames(
    _ host: String, _ isAnsweredByAll: Bool, _ isAnsweredByItsOwn: Bool
  ) async throws {
    let own = OperatorAccess.ownListener(names: [HostName("awd.internal")].compactMap(\.self))
    #expect(try await isAnswered(Self.shared, host: host) == isAnsweredByAll)
    #expect(try await isAnswered(own, host: host) == isAnsweredByItsOwn)
  }

  @Test func budgetsAreMetrics() throws {
    let budget = Budget<String>(capacity: 10, share: 5)
    let metrics = Metrics()
    metrics.budget(named: "streams") { budget.statistics }
    let holding = Holding(of: budget, for: "a", onLoss: {})
    #expect(holding.set(to: 5) && !holding.set(to: 6))
    for line in [
      "capacity{budget=\"streams\"} 10", "held{budget=\"streams\"} 5",
      "owners{budget=\"streams\"} 1", "refused_total{budget=\"streams\"} 1",
      "lost_total{budget=\"streams\"} 0",
    ] {
      #expect(metrics.render().contains("awd_budget_\(line)\n"), "\(line)")
    }
  }
}

private final class Box<Value: ~Copyable & Sendable>: Sendable {
  let value: Value
  init(_ value: consuming Value) { self.value = value }
}
