internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import WalletClient

/// The agent and the places that contracts name themselves.
@Suite(.ownThreads) struct ContractScriptsTests {
  let cache = TemporaryFolder()

  /// A chain whose contracts all name these places, a gateway and a repository, all in one server.
  private func responder(
    _ uris: [String], answer: String? = nil, files: [String: [UInt8]]
  ) -> ScriptedResponder {
    ScriptedResponder { path, _ in
      if path == "/rpc" {
        let result = Hex.encode(Array(FunctionCall.setScriptURI(uris).data.dropFirst(4)))
        return Response(
          .ok, type: "application/json",
          text: answer ?? #"[{"jsonrpc":"2.0","id":0,"result":"0x\#(result)"}]"#)
      }
      return files[path].map { .file($0) } ?? Response(.notFound)
    }
  }

  private func fetch(
    _ responder: ScriptedResponder, _ request: TokenScriptRequest? = nil
  ) async throws -> TokenScriptReport {
    var report: TokenScriptReport?
    try await withServer(responder) { url in
      let contracts = ContractScripts(endpoint: url + "/rpc", gateway: url + "/gateway/")
      report = try await agent(url, cache, contracts: contracts)
        .fetch(request ?? WalletClientTests.request())
    }
    return try #require(report)
  }

  private static let repository = "/2019/05/\(alice)"

  @Test func theContractsOwnPlaceComesFirst() async throws {
    let own = try Signer.shop.sign(tokenScript(note: "own"), at: 1_600_000_000)
    let other = try Signer.rival.sign(tokenScript(note: "other"), at: 1_600_000_500)
    let responder = responder(
      ["ipfs://Qm12/token.tsml"],
      files: ["/gateway/ipfs/Qm12/token.tsml": own, Self.repository: other])
    let report = try await fetch(responder)
    guard case .stored(let script, _, isUpdate: false) = report.outcome else {
      Issue.record("\(report)")
      return
    }
    #expect(script.signer == "shop.example" && report.source == "ipfs://Qm12/token.tsml")
    #expect(cache.bytes("1/\(alice).xml") == own)
    // Nothing was asked that needn't be, and only the repository is told who the wallet is.
    #expect(responder.requests.count == 2)
    #expect(responder.requests.allSatisfy { $0.value(FieldName("X-Client-Name")) == nil })
    #expect(try await fetch(responder).outcome == .unchanged)
  }

  private static let useless: [[String]] = [
    [], ["ipfs://Qm12/missing"], ["ipfs://Qm12/unsigned"], ["ipfs://Qm12/foreign"],
    ["ipfs://Qm12/version"], ["ipfs://../2019/05/\(alice)"], ["ipfs://a/%2e%2e/b"], ["ipfs://"],
    ["ipfs://a?b"], ["http://example.org/x"], ["file:///etc/passwd"], ["ftp://x/"], ["nonsense"],
    ["https://"], ["https://x:x@127.0.0.1/"], Array(repeating: "ipfs://Qm12/missing", count: 40),
  ]

  @Test(arguments: useless)
  func theRepositoryIsAskedWherePlacesAreNoUse(_ uris: [String]) async throws {
    let good = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    let responder = responder(
      uris,
      files: [
        Self.repository: good, "/gateway/ipfs/Qm12/unsigned": Array(tokenScript().utf8),
        "/gateway/ipfs/Qm12/foreign": try Signer.shop.sign(tokenScript(for: bob), at: 1),
        "/gateway/ipfs/Qm12/version": try Signer.shop.sign(tokenScript("2019/04"), at: 1),
      ])
    let report = try await fetch(responder)
    guard case .stored = report.outcome else {
      Issue.record("\(report)")
      return
    }
    #expect(report.source == nil && cache.bytes("1/\(alice).xml") == good)
    #expect(responder.requests.count <= 10)
  }

  /// A contract is anybody's: it sends no wallet to the machines beside it.
  @Test(arguments: ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "10.0.0.1", "169.254.169.254"])
  func noPlaceLeadsIntoTheUsersNetwork(_ host: String) async throws {
    let responder = responder(
      ["https://\(host)/token.tsml"],
      files: [Self.repository: try Signer.shop.sign(tokenScript(), at: 1_600_000_000)])
    let report = try await fetch(responder)
    #expect(report.source == nil && report.hasFile)
    #expect(report.attempts.first?.result.contains("public Internet") == true)
  }

  @Test(arguments: ["", "[]", #"[{"id":0,"error":{"code":-32000}}]"#, "long"])
  func anEndpointThatFailsIsNoObstacle(_ answer: String) async throws {
    let good = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    let responder = responder(
      [], answer: answer == "long" ? String(repeating: " ", count: 300 << 10) : answer,
      files: [Self.repository: good])
    let report = try await fetch(responder)
    #expect(cache.bytes("1/\(alice).xml") == good)
    #expect(report.attempts.first?.result == "the chain’s endpoint has not answered")
  }
}
