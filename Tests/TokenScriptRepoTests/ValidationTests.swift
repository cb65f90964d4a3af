internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of `POST /tokenscript/validate`, as today's wallets ask it.
@Suite(.ownThreads) struct ValidationTests {
  private let fixture: RepositoryFixture
  private let roots: String

  init() throws {
    fixture = try RepositoryFixture()
    let path = "\(fixture.folder)/roots.pem"
    try Data(Signer.shop.key.certificatePEM).write(to: URL(filePath: path))
    roots = "roots = \"\(path)\""
  }

  private struct Report: Decodable, Equatable {
    struct Overview: Decodable, Equatable {
      let originStatuses: [Origin]
    }

    struct Origin: Decodable, Equatable {
      let name, type, status, statusText, signingKey: String
    }

    let overview: Overview
    let signatureStatus: String
  }

  private func post(_ server: RepositoryServer, _ body: String) async throws -> Response {
    let head = try RequestHead(
      method: .post, path: "/tokenscript/validate", authority: "localhost",
      fields: [("Content-Type", "application/json"), ("Accept", "application/json")])
    return await server.table.respond(
      to: Request(
        head: head, body: Array(body.utf8), origin: RequestOrigin(peer: "127.0.0.1")))
  }

  /// Sends a file as Android does: in lines of 76 characters, with escaped slashes.
  private func validate(
    _ server: RepositoryServer, _ file: [UInt8], _ source: String = "1-\(alice)"
  ) async throws -> Report {
    let base64 = Data(file).base64EncodedString(options: [
      .lineLength76Characters, .endLineWithLineFeed,
    ])
    let escaped = base64.replacing("\n", with: "\\n").replacing("/", with: "\\/")
    let response = try await post(
      server,
      """
      {"sourceType":"scriptUri","sourceId":"\(source)","sourceUrl":"http:\\/\\/127.0.0.1:1\\/",\
      "base64Xml":"\(escaped)\\n"}
      """)
    #expect(response.status == .ok)
    #expect(response[.accessControlAllowOrigin] == "*")
    return try JSONDecoder().decode(Report.self, from: Data(response.bytes))
  }

  private func sign(_ signer: Signer, _ text: String = tokenScript(for: alice)) throws -> [UInt8] {
    try signer.sign(text, at: 1_550_000_000)
  }

  @Test func aTrustedSignerPasses() async throws {
    let report = try await validate(fixture.server(roots), sign(.shop))
    let expected = Report.Origin(
      name: "Coin", type: "P-256", status: "pass",
      statusText: "signed by shop.example, whose certificate is trusted",
      signingKey: try Signer.shop.identifier())
    #expect(report.overview.originStatuses == [expected] && report.signatureStatus == "pass")
  }

  @Test func theDeployerPassesInTheWordsThatWalletsLookFor() async throws {
    let deployers = "[tokenscript.deployers]\n\"\(alice)\" = \"\(try Signer.issuer.identifier())\""
    let server = try await fixture.server(deployers)
    let origin = try #require(
      try await validate(server, sign(.issuer)).overview.originStatuses.first)
    #expect(origin.status == "pass")
    #expect(origin.statusText.contains("matches the contract deployer"))
  }

  @Test func anybodyElseIsAWarningUnlessUntrustedSignersPass() async throws {
    let origin = try await validate(fixture.server(roots), sign(.rival)).overview.originStatuses[0]
    #expect(origin.status == "warn" && origin.statusText.hasPrefix("signed by rival.example; "))
    let lenient = try await fixture.server("verify_untrusted = true")
    #expect(
      try await validate(lenient, sign(.rival)).overview.originStatuses[0].status == "pass")
  }

  @Test func theContractThatIsAskedForComesFirst() async throws {
    let text = tokenScript(
      contracts: [("A", [("1", alice)]), ("B", [("5", bob)])], origins: ["A", "B"])
    let server = try await fixture.server(roots)
    let report = try await validate(server, sign(.shop, text), "5-\(bob)")
    #expect(report.overview.originStatuses.map(\.name) == ["B", "A"])
  }

  @Test func whatIsNotSignedForTheContractFails() async throws {
    let server = try await fixture.server(roots)
    let signed = try sign(.shop)
    let changed = Array(
      String(decoding: signed, as: UTF8.self).replacing("2019/05", with: "2019/06").utf8)
    for file in [changed, Array("<x/>".utf8), [0], Array(tokenScript(for: alice).utf8)] {
      let report = try await validate(server, file)
      #expect(report.overview.originStatuses.map(\.status) == ["fail"])
      #expect(report.signatureStatus == "fail")
    }
    for source in ["1-\(bob)", "5-\(alice)"] {
      let report = try await validate(server, signed, source)
      #expect(report.overview.originStatuses.map(\.status) == ["fail"])
      #expect(report.signatureStatus == "pass")
    }
  }

  @Test(arguments: [
    "", "[]", "{}", "{\"sourceType\":\"scriptUri\",\"sourceId\":\"1-\(alice)\"}",
    "{\"sourceType\":\"other\",\"sourceId\":\"1-\(alice)\",\"base64Xml\":\"PHg+\"}",
    "{\"sourceType\":\"scriptUri\",\"sourceId\":\"0-\(alice)\",\"base64Xml\":\"PHg+\"}",
    "{\"sourceType\":\"scriptUri\",\"sourceId\":\"\(alice)\",\"base64Xml\":\"PHg+\"}",
    "{\"sourceType\":\"scriptUri\",\"sourceId\":\"1-\(alice)-1\",\"base64Xml\":\"PHg+\"}",
    "{\"sourceType\":\"scriptUri\",\"sourceId\":\"1-\(alice)\",\"base64Xml\":\"PHg\"}",
    "{\"sourceType\":\"scriptUri\",\"sourceId\":\"1-\(alice)\",\"base64Xml\":\"\"}",
    "{\"sourceType\":\"scriptUri\",\"sourceId\":\"1-\(alice)\",\"base64Xml\":7}",
  ])
  func whatIsNoRequestIsRefused(_ body: String) async throws {
    let response = try await post(fixture.server(roots), body)
    #expect(response.status == .badRequest)
    #expect(response.text.hasPrefix("{\"error\":\""))
  }
}
