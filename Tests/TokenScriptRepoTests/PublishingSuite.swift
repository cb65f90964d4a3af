internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import XMLSecurity

@testable import TokenScriptRepo

/// The row of a file that was published.
struct PublishedRow: Decodable {
  let path, state, sha256: String
  let warnings: [String]
}

/// The reason why a file is not published.
struct PublishingRefusal: Decodable {
  let error: String
  let signer: String?
  let known: [String]?
}

/// Tests that publish files for Alice's contract.
protocol PublishingSuite {
  var fixture: RepositoryFixture { get }
}

extension PublishingSuite {
  static var now: Int64 { 1_700_000_000 }
  static var place: String { "/2020/06/chain/1/\(alice)" }

  func server(_ policy: String = "open", _ toml: String = "") async throws
    -> RepositoryServer
  {
    try await fixture.server(
      "\(toml)\n[tokenscript.publish]\npolicy = \"\(policy)\"", publicURL: "https://repo.example")
  }

  /// Signs a file for Alice's contract on chain 1.
  func sign(
    _ signer: Signer = .shop, at time: Int64 = Self.now, on chains: [String] = ["1"],
    _ note: String = "", schema: String = "2020/06"
  ) throws -> [UInt8] {
    let text = tokenScript(
      schema, contracts: [("Coin", chains.map { ($0, alice) })], origins: ["Coin"], note: note)
    return try signer.sign(text, at: time)
  }

  /// Signs a file for Alice's contract as the official tool does: without a signing time.
  func signWithoutTime(
    _ signer: Signer = .shop, on chains: [String] = ["1"], note: String = "", object: String = ""
  ) async throws -> [UInt8] {
    let text = tokenScript(
      "2020/06", contracts: [("Coin", chains.map { ($0, alice) })], origins: ["Coin"], note: note)
    let core = "http://www.w3.org/2000/09/xmldsig#"
    let template = """
      <ds:Signature xmlns:ds="\(core)"><ds:SignedInfo>\
      <ds:CanonicalizationMethod Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/>\
      <ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"/>\
      <ds:Reference><ds:Transforms><ds:Transform Algorithm="\(core)enveloped-signature"/>\
      </ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>\
      <ds:DigestValue/></ds:Reference></ds:SignedInfo><ds:SignatureValue/>\
      <ds:KeyInfo><ds:X509Data/></ds:KeyInfo>\(object)</ds:Signature>
      """
    let name = "\(fixture.folder)/\(UUID())"
    try Data(signer.key.keyPEM).write(to: URL(filePath: "\(name).key"))
    try Data(signer.key.certificatePEM).write(to: URL(filePath: "\(name).pem"))
    try text.replacing("</ts:token>", with: template + "</ts:token>").write(
      toFile: "\(name).xml", atomically: true, encoding: .utf8)
    let signed = try await ChildProcess.run(
      "xmlsec1",
      [
        "--sign", "--privkey-pem", "\(name).key,\(name).pem", "--output", "\(name).tsml",
        "\(name).xml",
      ])
    #expect(signed.code == 0, "\(signed)")
    return Array(try Data(contentsOf: URL(filePath: "\(name).tsml")))
  }

  func send(
    _ server: RepositoryServer, _ bytes: [UInt8], to path: String = Self.place,
    from peer: String = "192.0.2.1"
  ) async throws -> Response {
    let head = try RequestHead(method: .put, path: path, authority: "repo.example", fields: [])
    return await server.table.respond(
      to: Request(head: head, body: bytes, origin: RequestOrigin(peer: peer)))
  }

  func row(_ response: Response) throws -> PublishedRow {
    try JSONDecoder().decode(PublishedRow.self, from: Data(response.bytes))
  }

  func refusal(_ response: Response) throws -> PublishingRefusal {
    #expect(response[.contentType] == "application/json")
    #expect(response[.accessControlAllowOrigin] == "*")
    return try JSONDecoder().decode(PublishingRefusal.self, from: Data(response.bytes))
  }
}
