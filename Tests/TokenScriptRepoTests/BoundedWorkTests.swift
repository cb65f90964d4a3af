internal import Formats
internal import Foundation
internal import HTTPProtocol
internal import Synchronization
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of the highest costs of one file and one client.
@Suite(.ownThreads) struct BoundedWorkTests {
  private let fixture: RepositoryFixture
  private let version: SchemaVersion

  init() throws {
    fixture = try RepositoryFixture()
    version = try #require(SchemaVersion("2019/05"))
  }

  /// A schema with the pattern for media of XHTML 1.0, in which a value with a comma at its end has very many readings.
  private func writeSchema() throws {
    try fixture.write(
      "../schemas/2019/05/tokenscript.xsd",
      """
      <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
        targetNamespace="http://tokenscript.org/2019/05/tokenscript">
        <xs:element name="token"><xs:complexType><xs:sequence>
          <xs:any processContents="skip" minOccurs="0" maxOccurs="9"/>
        </xs:sequence><xs:attribute name="media"><xs:simpleType><xs:restriction base="xs:string">
          <xs:pattern value="[^,]+(,\\s*[^,]+)*"/>
        </xs:restriction></xs:simpleType></xs:attribute></xs:complexType></xs:element>
      </xs:schema>
      """)
  }

  private func document(media: String) -> [UInt8] {
    Array(
      "<ts:token xmlns:ts=\"\(version.namespace)\" media=\"\(media)\"><ts:name>x</ts:name></ts:token>"
        .utf8)
  }

  private var endless: [UInt8] {
    document(media: String(repeating: "a, ", count: 64) + ",")
  }

  private func finding(
    of bytes: [UInt8], by workers: SchemaWorkers
  ) throws -> TokenScriptFile.Finding {
    workers.finding(for: try XMLDocument(parsing: bytes), of: bytes, version)
  }

  @Test func aValidationThatDoesNotEndIsStopped() throws {
    try writeSchema()
    let workers = SchemaWorkers(
      program: try ChildProcess.built("awd"), schemas: "\(fixture.folder)/schemas",
      cpuTime: .milliseconds(300))
    #expect(try finding(of: document(media: "a, b"), by: workers) == .passed)
    let start = ContinuousClock.now
    guard case .failed(let refusal) = try finding(of: endless, by: workers) else {
      Issue.record("the pattern matched")
      return
    }
    #expect(ContinuousClock.now - start < .seconds(20))
    #expect(refusal.reason == SchemaWorkers.tooMuchWork && !refusal.isTransient)
    // Another process does the rest.
    #expect(try finding(of: document(media: "a, b"), by: workers) == .passed)
    guard case .failed(let fault) = try finding(of: document(media: ""), by: workers) else {
      Issue.record("an empty value is allowed")
      return
    }
    #expect(fault.reason == "the schema does not allow it" && fault.detail.contains("media"))
    workers.rest()
    #expect(try finding(of: document(media: "a"), by: workers) == .passed)
  }

  @Test func aProcessThatCanNotBeStartedIsNoVerdict() throws {
    let workers = SchemaWorkers(
      program: "/nowhere/awd", schemas: fixture.folder, cpuTime: .seconds(1))
    guard case .failed(let refusal) = try finding(of: document(media: "a"), by: workers) else {
      Issue.record("there is a verdict")
      return
    }
    #expect(refusal.isTransient)
  }

  /// Counts the documents that come as far as the schema.
  private final class CountingCheck: SchemaCheck {
    let count = Atomic<Int>(0)

    func finding(
      for document: XMLDocument, of bytes: [UInt8], _ version: SchemaVersion
    ) -> TokenScriptFile.Finding {
      count.add(1, ordering: .relaxed)
      return .passed
    }
  }

  @Test func theSignatureComesBeforeTheSchema() throws {
    let check = CountingCheck()
    var reader = TokenScriptReader()
    reader.verifier = SignatureVerifier()
    reader.schemas = check
    reader.needsSignature = true
    let unsigned = Array(tokenScript(for: alice).utf8)
    #expect(try reader.read(unsigned, now: .now()).validity == .unchecked)
    #expect(check.count.load(ordering: .relaxed) == 0)
    let signed = try Signer.shop.sign(tokenScript(for: alice), at: 1_550_000_000)
    #expect(try reader.read(signed, now: .now()).validity == .passed)
    reader.needsSignature = false
    #expect(try reader.read(unsigned, now: .now()).validity == .passed)
    #expect(check.count.load(ordering: .relaxed) == 2)
  }

  @Test func namesAndWarningsAreBounded() throws {
    let now = Timestamp(seconds: 0)
    let longest = String(repeating: "é", count: 128)
    let text = { tokenScript(contracts: [($0, [("1", alice)])], origins: [$0]) }
    let file = try TokenScriptReader().read(Array(text(longest).utf8), now: now)
    #expect(file.contracts.first?.name == longest)
    #expect(throws: FileRefusal.self) {
      try TokenScriptReader().read(Array(text(longest + "x").utf8), now: now)
    }
    let bad = (0..<30_000).map { _ in ("1", "0x" + String(repeating: "é", count: 90)) }
    let many = tokenScript(contracts: [("A", bad)], origins: ["A"])
    let warnings = try TokenScriptReader().read(Array(many.utf8), now: now).warnings
    #expect(warnings.count == 33 && warnings.last == "and 29968 more")
    #expect(warnings.allSatisfy { $0.utf8.count <= 163 })
  }

  @Test func aSearchIsBounded() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice))
    let server = try await fixture.server("signature = \"off\"\ntrust = \"off\"")
    let most = Array(repeating: "coin", count: IndexPage.wordLimit).joined(separator: "+")
    #expect(try await server.get("/?q=\(most)").status == .ok)
    #expect(try await server.get("/?q=\(most)+coin").status == .badRequest)
    let longest = String(repeating: "c", count: IndexPage.queryLimit)
    #expect(try await server.get("/?q=\(longest)").status == .ok)
    #expect(try await server.get("/?q=\(longest)c").status == .badRequest)
  }

  @Test func theListInJSONComesByPage() async throws {
    let count = IndexListing.rowLimit + 1
    for number in 0..<count { try fixture.write("\(number).tsml", "<a") }
    let server = try await fixture.server("signature = \"off\"\ntrust = \"off\"")
    struct Page: Decodable {
      struct Row: Decodable { let path: String }
      let contracts: [Row]
      let next: String?
    }
    let first = try await server.get("/?format=json")
    let page = try JSONDecoder().decode(Page.self, from: Data(first.bytes))
    let next = try #require(page.next)
    #expect(page.contracts.count == IndexListing.rowLimit)
    #expect(first.fields.first(.link) == "<\(next)>; rel=\"next\"")
    let rest = try JSONDecoder().decode(
      Page.self, from: Data(try await server.get(next).bytes))
    #expect(rest.contracts.count == 1 && rest.next == nil)
    #expect(Set((page.contracts + rest.contracts).map(\.path)).count == count)
  }
}
