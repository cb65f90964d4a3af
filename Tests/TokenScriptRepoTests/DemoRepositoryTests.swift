internal import Foundation
internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

@Suite(.ownThreads) struct DemoRepositoryTests {
  private let now = Timestamp(seconds: Timestamp.now().seconds)

  /// A folder without a repository.
  private func emptyFixture() throws -> CommandsFixture {
    let fixture = try CommandsFixture()
    try FileManager.default.removeItem(atPath: fixture.root)
    return fixture
  }

  private func contents(_ fixture: CommandsFixture) throws -> [String: [UInt8]] {
    var contents: [String: [UInt8]] = [:]
    for path in try fixture.paths() {
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(
        atPath: "\(fixture.folder)/\(path)", isDirectory: &isFolder)
      if !isFolder.boolValue { contents[path] = try fixture.read(path) }
    }
    return contents
  }

  @Test func isMadeOnceAndThenLeftAlone() throws {
    let fixture = try emptyFixture()
    let demo = DemoRepository(dataFolder: fixture.folder)
    #expect(!demo.isThere)
    try demo.make(now: now, log: Log(level: .error))
    #expect(demo.isThere)
    let made = try contents(fixture)
    #expect(Set(DemoFile.all.map { "repository/\($0.path)" }).isSubset(of: made.keys))
    for path in made.keys where path.hasSuffix(".key.pem") {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(fixture.folder)/\(path)")
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
    try demo.make(now: now + .seconds(1), log: Log(level: .error))
    #expect(try contents(fixture) == made)
    // Files that the operator removed or added stay so.
    try FileManager.default.removeItem(atPath: "\(fixture.root)/\(DemoFile.all[0].path)")
    try demo.make(now: now + .seconds(1), log: Log(level: .error))
    #expect(try contents(fixture).count == made.count - 1)
  }

  @Test func whatACrashLeftIsMadeAnew() throws {
    let fixture = try emptyFixture()
    try fixture.write("repository.unfinished/half.xml", "<")
    try fixture.write("demo-keys.unfinished/demo.key.pem", "")
    try DemoRepository(dataFolder: fixture.folder).make(now: now, log: Log(level: .error))
    #expect(try !fixture.paths().contains { $0.contains("unfinished") || $0.contains("half.xml") })
  }

  @Test func keysThatCannotBeUsedLeaveNoRepository() throws {
    let fixture = try emptyFixture()
    try fixture.write("demo-keys/demo.key.pem", "nonsense")
    let error = #expect(throws: DemoError.self) {
      try DemoRepository(dataFolder: fixture.folder).make(now: now, log: Log(level: .error))
    }
    #expect(error?.description.contains("\(fixture.folder)/demo-keys: no private key") == true)
    #expect(!fixture.exists("repository"))
  }

  @Test func everyFileVerifiesAndIsWhereItSays() async throws {
    let fixture = try emptyFixture()
    try DemoRepository(dataFolder: fixture.folder).make(now: now, log: Log(level: .error))
    let output = try await fixture.run(RepositoryListCommand.self, ["--json"])
    let object = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
    let rows = try #require(object?["contracts"] as? [[String: Any]])
    #expect(rows.count == DemoFile.all.count)
    for row in rows {
      #expect(row["state"] as? String == "served")
      #expect(row["time"] as? String == now.description)
      let warnings = try #require(row["warnings"] as? [String])
      #expect(warnings.isEmpty, "\(warnings)")
    }
    #expect(Set(rows.compactMap { $0["kind"] as? String }) == ["RSA", "P-256", "secp256k1"])
    #expect(rows.contains { ($0["size"] as? Int ?? 0) > 32_000 })
  }

  /// The parts of a file that the language demands, as far as the repository reads them.
  private static func schema(_ version: String) -> String {
    """
    <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified"
        xmlns="http://tokenscript.org/\(version)/tokenscript"
        targetNamespace="http://tokenscript.org/\(version)/tokenscript">
      <xs:simpleType name="address"><xs:restriction base="xs:string">
        <xs:pattern value="0x[0-9a-fA-F]{40}"/></xs:restriction></xs:simpleType>
      <xs:element name="token"><xs:complexType><xs:sequence>
        <xs:choice><xs:element name="name"/><xs:element name="label"/></xs:choice>
        <xs:element name="contract" maxOccurs="unbounded"><xs:complexType><xs:sequence>
          <xs:element name="address" maxOccurs="unbounded"><xs:complexType><xs:simpleContent>
            <xs:extension base="address">
              <xs:attribute name="network" type="xs:positiveInteger" use="required"/>
            </xs:extension></xs:simpleContent></xs:complexType></xs:element>
          </xs:sequence>
          <xs:attribute name="name" type="xs:NCName" use="required"/>
          <xs:attribute name="interface" type="xs:NCName"/></xs:complexType></xs:element>
        <xs:element name="origins"><xs:complexType><xs:sequence>
          <xs:element name="ethereum"><xs:complexType>
            <xs:attribute name="contract" type="xs:NCName" use="required"/>
          </xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element>
        <xs:any processContents="skip" minOccurs="0" maxOccurs="unbounded"/>
        </xs:sequence>
        <xs:attribute name="custodian" type="xs:boolean" use="required"/>
      </xs:complexType></xs:element>
    </xs:schema>
    """
  }

  @Test func everyFileIsWhatItsSchemaAllows() async throws {
    let fixture = try emptyFixture()
    for version in ["2020/03", "2020/06"] {
      try fixture.write("schemas/\(version)/tokenscript.xsd", Self.schema(version))
    }
    try DemoRepository(dataFolder: fixture.folder).make(now: now, log: Log(level: .error))
    let output = try await fixture.run(
      RepositoryVerifyCommand.self, DemoFile.all.map { "\(fixture.root)/\($0.path)" },
      toml: "schema = \"require\"\nschemas = \"\(fixture.folder)/schemas\"\n")
    #expect(output.components(separatedBy: "schema     holds").count == DemoFile.all.count + 1)
  }

  /// But for one below the data folder, which is the program's to make.
  @Test func aConfiguredRepositoryElsewhereIsNeverMade() throws {
    let fixture = try emptyFixture()
    try fixture.write(
      "awd.toml",
      """
      [server]
      listen = ["127.0.0.1:0"]
      data = "\(fixture.folder)/data"
      [tokenscript]
      repository = "\(fixture.root)"
      """)
    let result = try fixture.spawn(CommandsFixture.program(), ["serve", "--config", "awd.toml"])
    #expect(result.code == 1)
    #expect(result.errors.contains("the repository \(fixture.root) can't be read"))
    #expect(!fixture.exists("repository") && !fixture.exists("data/demo-keys"))
  }
}
