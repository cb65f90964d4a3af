internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing

@testable import WalletClient

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

  // MARK: Digests

  /// The identifiers of one block and of several, in all forms.
  @Test(arguments: [10, 600_000], [0, 1, 2])
  func bytesOfTheDigestAreTheContractsOwn(size: Int, form: Int) async throws {
    let note = String(repeating: "x", count: size)
    let own = try Signer.shop.sign(tokenScript(note: note), at: 1_600_000_000)
    let stranger = try Signer.rival.sign(tokenScript(note: "stranger"), at: 1_600_000_500)
    let identifier = ContentIdentifiers.all(of: own)[form]
    let path = "/gateway/ipfs/\(identifier)"
    let good = try await fetch(
      responder(["ipfs://\(identifier)"], files: [path: own, Self.repository: stranger]))
    #expect(good.source == "ipfs://\(identifier)" && good.proof == .digest)
    #expect(cache.bytes("1/\(alice).xml") == own)
    // Other bytes are rejected, and the repository is asked.
    let evil = try await fetch(
      responder(["ipfs://\(identifier)"], files: [path: stranger, Self.repository: own]))
    #expect(evil.source == nil && evil.proof == nil)
    #expect(evil.attempts.first?.result.contains("the bytes aren't what the CID names") == true)
    #expect(evil.attempts.first?.uri == "ipfs://\(identifier)")
    #expect(cache.bytes("1/\(alice).xml") == own)
  }

  @Test func aFileInAFolderIsTakenByItsSignatureAlone() async throws {
    let own = try Signer.shop.sign(tokenScript(note: "own"), at: 1_600_000_000)
    let report = try await fetch(
      responder(["ipfs://Qm12/x.tsml"], files: ["/gateway/ipfs/Qm12/x.tsml": own]))
    #expect(report.proof == .signature)
  }

  /// A date that one location has given says nothing at another.
  @Test func anotherLocationIsAskedWithoutConditions() async throws {
    let old = try Signer.shop.sign(tokenScript(note: "old"), at: 1_600_000_900)
    let new = try Signer.shop.sign(tokenScript(note: "new"), at: 1_600_000_000)
    let first = ContentIdentifiers.all(of: old)[0]
    let second = ContentIdentifiers.all(of: new)[0]
    _ = try await fetch(responder(["ipfs://\(first)"], files: ["/gateway/ipfs/\(first)": old]))
    #expect(cache.bytes("1/\(alice).xml") == old)
    let moved = responder(["ipfs://\(second)"], files: ["/gateway/ipfs/\(second)": new])
    let report = try await fetch(moved)
    #expect(report.source == "ipfs://\(second)")
    #expect(moved.requests.allSatisfy { $0.value(.ifModifiedSince) == nil })
    #expect(cache.bytes("1/\(alice).xml") == new)
    // At the same location all is as ever.
    let again = responder(["ipfs://\(second)"], files: ["/gateway/ipfs/\(second)": new])
    #expect(try await fetch(again).outcome == .unchanged)
    #expect(again.requests.contains { $0.value(.ifModifiedSince) != nil })
  }

  /// A gateway that answers 304 to everything can't keep the old file.
  @Test func notModifiedUnaskedIsNoAnswer() async throws {
    let old = try Signer.shop.sign(tokenScript(note: "old"), at: 1_600_000_000)
    let new = try Signer.shop.sign(tokenScript(note: "new"), at: 1_600_000_500)
    let first = ContentIdentifiers.all(of: old)[0]
    _ = try await fetch(responder(["ipfs://\(first)"], files: ["/gateway/ipfs/\(first)": old]))
    let second = ContentIdentifiers.all(of: new)[0]
    let files = [Self.repository: new]
    let rpc = responder(["ipfs://\(second)"], files: files)
    let stubborn = ScriptedResponder { path, head in
      if path.hasPrefix("/gateway/") { return Response(.notModified) }
      return rpc.respond(path, head)
    }
    _ = try await fetch(stubborn)
    #expect(cache.bytes("1/\(alice).xml") == new)
  }

  @Test func anEndpointThatFailsMovesNothing() async throws {
    let own = try Signer.shop.sign(tokenScript(note: "own"), at: 1_600_000_900)
    let other = try Signer.rival.sign(tokenScript(note: "other"), at: 1_600_000_000)
    let identifier = ContentIdentifiers.all(of: own)[0]
    _ = try await fetch(
      responder(["ipfs://\(identifier)"], files: ["/gateway/ipfs/\(identifier)": own]))
    let failing = ScriptedResponder { path, _ in
      path == Self.repository
        ? .file(other, modified: "Sun, 13 Sep 2020 12:26:40 GMT") : Response(.internalServerError)
    }
    _ = try await fetch(failing)
    #expect(cache.bytes("1/\(alice).xml") == own)
  }

  /// What a place behind has is taken only if it is newer.
  @Test(arguments: [Status.notFound, .gone, .serviceUnavailable])
  func aPlaceThatFailsOnceIsNoReasonToGoBack(_ status: Status) async throws {
    let own = try Signer.shop.sign(tokenScript(note: "own"), at: 1_600_000_500)
    let older = try Signer.shop.sign(tokenScript(note: "older"), at: 1_600_000_000)
    let newer = try Signer.shop.sign(tokenScript(note: "newer"), at: 1_600_000_900)
    let uris = ["ipfs://Qm12/first", "ipfs://Qm12/second"]
    _ = try await fetch(
      responder(uris, files: ["/gateway/ipfs/Qm12/first": own, "/gateway/ipfs/Qm12/second": older]))
    #expect(cache.bytes("1/\(alice).xml") == own)
    for (file, kept) in [(older, own), (newer, newer)] {
      let rpc = responder(uris, files: ["/gateway/ipfs/Qm12/second": file])
      let failing = ScriptedResponder { path, head in
        if path == "/gateway/ipfs/Qm12/first" { return Response(status) }
        return rpc.respond(path, head)
      }
      _ = try await fetch(failing)
      #expect(cache.bytes("1/\(alice).xml") == kept)
    }
  }

  @Test func everyUnusedURIIsReportedWithAReason() async throws {
    let uris = ["ftp://x", "ipfs://..", "https://127.0.0.1/x", "ipfs://Qm12"]
    let report = try await fetch(responder(uris, files: [:]))
    #expect(report.attempts.compactMap(\.uri) == uris)
    #expect(report.attempts.prefix(2).allSatisfy { $0.result.hasPrefix("not followed, since") })
    guard case .absent = report.outcome else {
      Issue.record("\(report)")
      return
    }
  }
}
