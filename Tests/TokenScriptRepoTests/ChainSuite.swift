internal import Formats
internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// An endpoint for JSON-RPC that answers each call as a closure says.
final class Endpoint: Responder {
  private let status: Status
  private let answer: Lock<@Sendable ([[String: Any]]) -> String>

  init(status: Status = .ok, _ answer: @escaping @Sendable ([[String: Any]]) -> String) {
    self.status = status
    self.answer = Lock(answer)
  }

  func change(_ answer: @escaping @Sendable ([[String: Any]]) -> String) {
    self.answer.withLock { $0 = answer }
  }

  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    .respond(bodyLimit: 1 << 16) { [self] request in
      let calls =
        (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [[String: Any]] ?? []
      let text = answer.withLock { $0 }(calls)
      return Response(status, type: "application/json", text: text)
    }
  }
}

/// A made-up chain: what is not set reverts.
final class TestChain: Sendable {
  static let registry = address(0x77)

  private let results = Lock<[String: String]>([:])
  private let asked = Lock<[[String]]>([])

  /// The selectors of the calls of each batch so far.
  var batches: [[String]] { asked.withLock { $0 } }

  static func address(_ number: UInt8) -> EthereumAddress {
    EthereumAddress([UInt8](repeating: number, count: 20)) ?? EthereumAddress()
  }

  /// Sets what a contract returns for a call.
  func set(_ contract: EthereumAddress, _ call: FunctionCall, _ result: [UInt8]) {
    results.withLock { $0[contract.lowercase + Hex.encode(call.data)] = "0x" + Hex.encode(result) }
  }

  /// Answers a batch.
  func answer(_ calls: [[String: Any]]) -> String {
    let answers = calls.map { call in
      let id = call["id"] as? Int ?? -1
      let parameters = (call["params"] as? [Any])?.first as? [String: String] ?? [:]
      let key = (parameters["to"] ?? "") + (parameters["data"] ?? "").dropFirst(2)
      guard let result = results.withLock({ $0[key] }) else {
        return #"{"jsonrpc":"2.0","id":\#(id),"error":{"code":3,"message":"execution reverted"}}"#
      }
      return #"{"jsonrpc":"2.0","id":\#(id),"result":"\#(result)"}"#
    }
    asked.withLock {
      $0.append(
        calls.map {
          String((($0["params"] as? [Any])?.first as? [String: String])?["data"]?.prefix(10) ?? "")
        })
    }
    return "[\(answers.joined(separator: ","))]"
  }
}

/// What contracts return.
enum Encoded {
  static func word(_ number: Int) -> [UInt8] {
    (0..<32).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }
  }

  static func word(_ address: EthereumAddress) -> [UInt8] {
    [UInt8](repeating: 0, count: 12) + address.bytes
  }

  static func text(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    return word(bytes.count) + bytes + [UInt8](repeating: 0, count: (32 - bytes.count % 32) % 32)
  }

  static func string(_ text: String) -> [UInt8] { word(32) + self.text(text) }

  static func strings(_ texts: [String]) -> [UInt8] {
    Array(FunctionCall.setScriptURI(texts).data.dropFirst(4))
  }

  /// An entry of the registry.
  struct Entry {
    var name = "Entry"
    var icon = ""
    var token = 1
    var place = "https://scripts.example/x.tsml"
    var isAuthenticated = 0

    fileprivate var bytes: [UInt8] {
      let name = text(self.name)
      let icon = text(self.icon)
      return word(160) + word(160 + name.count) + word(token)
        + word(160 + name.count + icon.count) + word(isAuthenticated) + name + icon + text(place)
    }
  }

  static func entries(_ entries: [Entry]) -> [UInt8] {
    var offsets: [UInt8] = []
    var tuples: [UInt8] = []
    for entry in entries {
      offsets += word(32 * entries.count + tuples.count)
      tuples += entry.bytes
    }
    return word(32) + word(entries.count) + offsets + tuples
  }
}

/// Tests with a stand-in for a chain's endpoint.
protocol ChainSuite {
  var fixture: RepositoryFixture { get }
}

extension ChainSuite {
  /// Runs a server at a port of its own.
  func withStandIn(_ endpoint: Endpoint, _ body: (_ url: String) async throws -> Void) async throws
  {
    let standIn = try WebServer(
      options: ServerOptions(endpoints: [.tcp(.loopback, port: 0)]), responder: endpoint,
      report: { _ in })
    try standIn.start()
    let result: Result<Void, any Error>
    do { result = .success(try await body("http://\(standIn.endpoints[0])")) } catch {
      result = .failure(error)
    }
    await standIn.drain(within: .zero)
    try result.get()
  }

  /// Runs an endpoint, and a repository that asks it when it is told to.
  func withAnswers(
    _ endpoint: Endpoint, _ toml: String = "", on chains: [String] = ["1"],
    _ body: (RepositoryServer, _ ask: @escaping @Sendable () async throws -> Bool) async throws ->
      Void
  ) async throws {
    try await withStandIn(endpoint) { url in
      let endpoints = chains.map { chain in
        "\(chain) = { url = \"\(url)/\(chain)\", registry = \"\(TestChain.registry.lowercase)\" }"
      }
      let server = try await fixture.server(
        "\(toml)\n[tokenscript.chains]\n\(endpoints.joined(separator: "\n"))",
        publicURL: "https://repo.example")
      try await body(server) {
        let survey = server.service.scheduler
        let hasChanged = try await survey.requestAll(server.service.indexer.current.chainRequests)
        if hasChanged { try await server.service.reload() }
        return hasChanged
      }
    }
  }

  /// Runs a made-up chain, as ``withAnswers(_:_:on:_:)`` does.
  func withChain(
    _ toml: String = "", on chains: [String] = ["1"],
    _ body: (TestChain, RepositoryServer, _ ask: @escaping @Sendable () async throws -> Bool)
      async throws -> Void
  ) async throws {
    let chain = TestChain()
    try await withAnswers(Endpoint { chain.answer($0) }, toml, on: chains) { server, ask in
      try await body(chain, server, ask)
    }
  }
}
