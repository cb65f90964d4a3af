internal import Platform
internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of the proof by the chain against a real virtual machine (eth-tester with py-evm).
@Suite(.ownThreads, .enabled(if: TestTools.program("python") != nil))
struct ChainEndpointTests {
  @Test func contractsAreAskedAndAnswer() async throws {
    let fixture = try RepositoryFixture()
    let owner = try #require(EthereumAddress(Signer.issuer.identifier()))
    let uris = ["ipfs://abc", "https://repo.example/" + String(repeating: "x", count: 80)]
    let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/Python/endpoint.py"
    let python = try #require(TestTools.program("python"))
    let process = try ChildProcess(python, [script, owner.checksummed] + uris, input: nil)
    let words = try await process.line(with: "ready ", on: .output).split(separator: " ").map(
      String.init)
    try #require(words.count == 6)
    let contracts = try words[2...].map { try #require(EthereumAddress($0)) }
    for (index, contract) in contracts.enumerated() {
      try fixture.write(
        "\(index)/Coin.tsml",
        bytes: Signer.issuer.sign(tokenScript(for: contract.checksummed), at: 1_600_000_000))
    }
    let server = try await fixture.server(
      """
      [tokenscript.chains]
      1 = { url = "http://127.0.0.1:\(words[1])", registry = "\(words[5])" }
      """, publicURL: "https://repo.example")
    #expect(
      try await server.service.scheduler.requestAll(server.service.indexer.current.chainRequests))
    try await server.service.reload()
    let found = server.service.scheduler.answers.value.byOrigin
    func word(_ index: Int) throws -> ChainAnswer {
      try #require(found[OriginContract(contracts[index], on: .main)])
    }
    #expect(try word(0).owner == owner && word(0).scripts == uris)
    // The older interface returns one string.
    #expect(try word(1).owner == nil && word(1).scripts == [uris[0]])
    #expect(try word(2).owner == nil && word(2).scripts == [])
    for index in 0..<3 { #expect(try word(index).registered == ["ipfs://registered"]) }
    let rows = server.service.indexer.current.rows
    #expect(rows.filter { $0.standing == .issuer }.map(\.contract) == [contracts[0]])
    let text = try await server.get("/tokenscript/\(contracts[0])/chain/1/script-uri").text
    #expect(text.contains("\"erc5169\":[\"\(uris[0])\",\"\(uris[1])\"]"))
    // An endpoint that is gone leaves the last word.
    process.closeInput()
    _ = try await process.ended()
    #expect(
      try await !server.service.scheduler.requestAll(server.service.indexer.current.chainRequests))
    #expect(server.service.scheduler.answers.value.byOrigin == found)
  }
}
